# Statuses of the library become Julia exceptions.

"""
    TCUOps.TCUError(code, name, message)

An error of the library that has no Julia exception of its own: the CUDA runtime's, a missing device or library, a bug.
Shapes that do not fit are a `DimensionMismatch`, other bad arguments an `ArgumentError`, and memory that ran out an
`OutOfMemoryError`; the first two carry the library's message.
"""
struct TCUError <: Exception
    code::Int
    name::String
    message::String
end

Base.showerror(io::IO, e::TCUError) = print(io, "TCUError (", e.name, "): ", e.message)

const STATUS_OUT_OF_MEMORY = Int32(20)
const SHAPE_STATUSES = (8, 12)
const ARGUMENT_STATUSES = (2, 3, 4, 5, 6, 7, 9, 10, 11, 13, 15, 16, 17, 18)

check(status::Int32) = status == 0 ? nothing : throw_status(status)

@noinline function throw_status(status::Int32)
    message = unsafe_string(@tcu tcu_last_error()::Cstring)
    status == STATUS_OUT_OF_MEMORY && throw(OutOfMemoryError())
    status in SHAPE_STATUSES && throw(DimensionMismatch(message))
    status in ARGUMENT_STATUSES && throw(ArgumentError(message))
    name = unsafe_string(@tcu tcu_status_name(status::Int32)::Cstring)
    throw(TCUError(status, name, message))
end
