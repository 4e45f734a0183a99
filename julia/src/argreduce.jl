# argmax, argmin, findmax, findmin: positions as Base gives them, an Int for vectors and a CartesianIndex otherwise.

# The library counts positions from 0 over the reduced modes, the lowest fastest.
positions(id::Int32, t, dims) = (check_elements(t, dims); reduce_alloc(Fold(id, max), t, Int64, dims))
function check_elements(t, dims)
    N = length(axes(t))
    folded_length(t, reduced_dims(N, dims)) == 0 && prod_dims(reduced_size(extents(t), reduced_dims(N, dims))) != 0 &&
        throw(ArgumentError("argmax and argmin need elements; this reduces over none"))
    return
end

as_index(::Val{1}, index::CartesianIndex{1}) = index[1]
as_index(::Val, index::CartesianIndex) = index

function index_at(t, ::Colon, position::Int64)
    axs = map(Base.OneTo ∘ length, axes(t))
    return as_index(Val(length(axs)), CartesianIndices(axs)[position+1])
end

# The result's own index, with the reduced modes' part from the position.
function index_array(t, dims, found::Array{Int64,N}) where {N}
    reduced = collect(reduced_dims(N, dims))
    within = CartesianIndices(ntuple(k -> extents(t)[reduced[k]], length(reduced)))
    return map(CartesianIndices(found), found) do I, position
        J = within[position+1]
        as_index(Val(N), CartesianIndex(ntuple(d -> (k = findfirst(isequal(d), reduced); k === nothing ? I[d] : J[k]), Val(N))))
    end
end

indices(t, ::Colon, position) = index_at(t, :, position)
indices(t, dims, found) = index_array(t, dims, Array(found))
arg_reduce(id, t, dims) = indices(t, dims, positions(id, t, dims))
function find_both(id, t, dims)
    check_elements(t, dims)
    found, best = reduce_both(id, t, Int64, element_type(t), dims)
    return best, indices(t, dims, found)
end

for (arg, find, id) in ((:argmax, :findmax, :REDUCE_ARGMAX), (:argmin, :findmin, :REDUCE_ARGMIN))
    @eval begin
        Base.$arg(A::Reducible; dims = :) = arg_reduce($id, tree(identity, A), dims)
        Base.$find(A::Reducible; dims = :) = find_both($id, tree(identity, A), dims)
        Base.$find(f, A::Reducible; dims = :) = find_both($id, tree(f, A), dims)
    end
end
Base.argmax(f::Function, A::AnyTCU) = element_at(A, Base.argmax(tree(f, A)))
Base.argmin(f::Function, A::AnyTCU) = element_at(A, Base.argmin(tree(f, A)))
element_at(A, index) = allowscalar(() -> A[index])

@doc """
    argmax(A::TCUArray; dims = :), argmin, findmax, findmin

The position of the first best element, or of the first NaN if there is one: an index for `dims = :`, else a host Array of
indices (a device has no use for them). findmax and findmin give the values too, from the same pass; they stay on the device when
`dims` is given. ArgumentError when there are no elements to choose from.
""" Base.argmax(::TCUArray)
