# Finding and opening libtcuops.so. Nothing is opened before the first call that needs it, so that `using TCUOps`
# always works and the error comes where it can be acted on.

# The C functions are called through pointers that the first call of each resolves.
const LIBRARY = Ref{Ptr{Cvoid}}(C_NULL)
const LIBRARY_LOCK = ReentrantLock()

const LIBRARY_NAME = "libtcuops.so"

# Not Libdl's default, which binds the library to libgcc_s's unwinder while the C++ runtime that is loaded already is bound
# to the libunwind that Julia itself uses: a C++ exception that one starts and the other goes on with ends the process.
const LIBRARY_FLAGS = Libdl.RTLD_LAZY | Libdl.RTLD_LOCAL

"The places where the library is looked for, in order."
function library_candidates()
    from_env = get(ENV, "TCUOPS_LIBRARY", "")
    isempty(from_env) || return [from_env]
    return [normpath(joinpath(@__DIR__, "..", "..", "build", "release", LIBRARY_NAME)), LIBRARY_NAME]
end

"""
    TCUOps.library_path() -> String

The file of the library in use. Opens it if that has not happened yet.
"""
library_path() = Libdl.dlpath(library())

function library()
    handle = LIBRARY[]
    handle == C_NULL ? open_library() : handle
end

@noinline function open_library()
    lock(LIBRARY_LOCK) do
        LIBRARY[] == C_NULL || return LIBRARY[]
        tried = library_candidates()
        for path in tried
            handle = Libdl.dlopen(path, LIBRARY_FLAGS; throw_error = false)
            handle === nothing && continue
            check_version(handle, path)
            return LIBRARY[] = handle
        end
        throw(TCUError(0, "no library", string(
            "libtcuops.so could not be opened (tried ", join(tried, ", "), "). Build it with ",
            "`cmake --preset release && cmake --build --preset release` in the TCUOps checkout, or set ",
            "ENV[\"TCUOPS_LIBRARY\"] to its path before the first use.")))
    end
end

const LIBRARY_MAJOR_MINOR = (0, 1)

function check_version(handle, path)
    version = ccall(Libdl.dlsym(handle, :tcu_version), Int32, ())
    found = (Int(version) ÷ 10000, Int(version) ÷ 100 % 100)
    found == LIBRARY_MAJOR_MINOR || throw(TCUError(0, "version", string(
        path, " is version ", join(found, '.'), ".x, and this package is written for ",
        join(LIBRARY_MAJOR_MINOR, '.'), ".x: rebuild the library from the same checkout as the package")))
end

@noinline function resolve!(slot::Base.RefValue{Ptr{Cvoid}}, name::Symbol)
    slot[] = Libdl.dlsym(library(), name)
end

# `@tcu tcu_free(context::Ptr{Cvoid}, ...)::Int32` is a ccall of that function in the library.
macro tcu(call)
    signature, result = call.args
    name, arguments = signature.args[1], signature.args[2:end]
    slot = Ref{Ptr{Cvoid}}(C_NULL)
    types = Expr(:tuple, (esc(a.args[2]) for a in arguments)...)
    values = (esc(a.args[1]) for a in arguments)
    quote
        pointer = $slot[]
        pointer == C_NULL && (pointer = resolve!($slot, $(QuoteNode(name))))
        ccall(pointer, $(esc(result)), $types, $(values...))
    end
end
