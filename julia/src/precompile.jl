# What every first expression needs is inferred when the package is precompiled.

for f in (run_map!, try_map!)
    precompile(f, (TCUArray, Broadcasted))
end
precompile(host_map!, (TCUArray, Broadcasted, String))
for R in (Nothing, Recording)
    precompile(call_reduce, (Call, Int32, R, DimSet, Bool, Bool, Bool, Int32))
end
precompile(scan!, (TCUArray, Int32, Any, Int, Any, UInt32))
precompile(try_scan!, (TCUArray, Int32, Any, Int, Any, UInt32, Any))
precompile(recording, (Call, Broadcasted))
precompile(find_recording, (Call, Any, UInt))
precompile(record_and_keep, (Call, Broadcasted, UInt))
precompile(record, (Call, Any))
for x in (Broadcasted, Union{AbstractArray,Tuple}, Ref, Any)
    precompile(symbol_of, (Recorder, x))
end
precompile(symbolize, (Base.RefValue{Int}, Function))
precompile(symcall, (Int32, Any, Vector{Any}))
precompile(symcall, (Int32, Any, Tuple))
precompile(result_type, (Int32, Vector{DataType}))
precompile(library_result_type, (Int32, Vector{DataType}))
precompile(record_call, (Any, Vector{Any}))
precompile(record_power, (Any, Any))
precompile(call_recorded, (Any, Vector{Any}))
precompile(captured_type, (Any,))
precompile(lift, (Any, Any))
precompile(acquire_call, (Context,))
precompile(release_call, (Call,))
precompile(call_map, (Call, Ptr{Cvoid}))
precompile(throw_status, (Int32,))
precompile(context, (Symbol, Int))
precompile(kernel_calls, (Context,))
precompile(print_calls, (Base.TTY, Context))
for T in (Float32, Float64)
    precompile(symbol, (Type{T}, Vector{CNode}))
    precompile(constant, (T,))
    precompile(symbolize, (Base.RefValue{Int}, T))
    for N in 0:4
        A = TCUArray{T,N}
        precompile(push_leaf!, (Call, A))
        precompile(push_out!, (Call, A))
        precompile(tensor!, (Call, A))
        precompile(collect_input!, (Call, A))
        precompile(new_array, (Context, Type{T}, NTuple{N,Int}))
        precompile(copyto!, (A, Array{T,N}))
        precompile(copyto!, (Array{T,N}, A))
        precompile(fill!, (A, T))
        precompile(TCUArray, (Array{T,N},))
        precompile(Base.sum, (A,))
        for M in 0:4
            precompile(overlaps, (A, TCUArray{T,M}))
            precompile(same_layout, (A, TCUArray{T,M}))
        end
    end
    precompile(Base.:*, (TCUMatrix{T}, TCUMatrix{T}))
    precompile(matrix_product!, (TCUMatrix{T}, TCUMatrix{T}, TCUMatrix{T}, Bool, Bool))
end
