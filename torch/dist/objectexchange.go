package dist

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/torch"
)

// objects is the encoded objects of one call of a rank, and the tensors that it makes for
// them. Its methods panic with the *torch.Failure of torch.Must and torch.OK.
type objects struct {
	d    *state
	op   string
	g    *Group
	own  [][]byte
	made []*torch.Tensor
}

// tensor notes a tensor that has been made, to free it.
func (o *objects) tensor(x *torch.Tensor, err error) *torch.Tensor {
	if err != nil {
		torch.OK(fmt.Errorf("%s: %w", o.op, err))
	}
	o.made = append(o.made, x)
	return x
}

// empty makes a tensor to receive into.
func (o *objects) empty(dtype torch.DType, n int) *torch.Tensor {
	return o.tensor(o.d.Empty(dtype, torch.Shape{n}))
}

// bytes makes a tensor of bytes, with zeros behind them if they are fewer than n.
func (o *objects) bytes(n int, data ...[]byte) *torch.Tensor {
	all := slices.Concat(data...)
	all = append(all, make([]byte, max(0, n-len(all)))...)
	return o.tensor(o.d.FromNumpy(&torch.Array{Shape: torch.Shape{len(all)}, DType: torch.U8, Bytes: all}))
}

// sizes makes a tensor of the sizes of objects.
func (o *objects) sizes(list ...[]byte) *torch.Tensor {
	return o.tensor(o.d.FromSlice(lengths(list), torch.I64, torch.Shape{len(list)}))
}

func lengths(list [][]byte) []int {
	return lists.Map(list, func(b []byte) int { return len(b) })
}

// read waits for a tensor and copies it to the host. A run without values takes the time, and
// has what was posted instead.
func (o *objects) read(x *torch.Tensor, posted func() []byte) []byte {
	data := torch.Must(hosted.Read(o.d.Rank, x))
	if !o.d.HasData() {
		return posted()
	}
	return data
}

// readSizes reads the sizes of objects.
func (o *objects) readSizes(x *torch.Tensor, posted func() [][]byte) (sizes []int) {
	data := torch.Must(hosted.Read(o.d.Rank, x))
	if !o.d.HasData() {
		return lengths(posted())
	}
	for i := range len(data) / torch.I64.Size() {
		sizes = append(sizes, int(numeric.GetInt(torch.I64, data, i)))
	}
	return sizes
}

// post has the other ranks of the group know the caller's objects, and returns those of all
// ranks that have called so far, by rank of the group. All have after a collective.
func (o *objects) post() map[int][][]byte {
	g := o.g.shared
	all := g.posted[o.g.objects]
	if all == nil {
		all = map[int][][]byte{}
		g.posted[o.g.objects] = all
	}
	if all[o.g.rank] = o.own; len(all) == len(g.ranks) {
		delete(g.posted, o.g.objects)
	}
	o.g.objects++
	return all
}

// gatherSizes gives every rank the size of the object of each.
func (o *objects) gatherSizes(posted map[int][][]byte) []int {
	all, own := o.empty(torch.I64, len(o.g.shared.ranks)), o.sizes(o.own...)
	torch.OK(AllGatherIntoTensor(o.d.Rank, all, own, o.g))
	return o.readSizes(all, func() (list [][]byte) {
		for rank := range o.g.shared.ranks {
			list = append(list, posted[rank]...)
		}
		return list
	})
}

// allGather gives every rank the objects of all.
func (o *objects) allGather() (list []parcel) {
	posted := o.post()
	sizes := o.gatherSizes(posted)
	n, most := len(sizes), slices.Max(sizes)
	all, own := o.empty(torch.U8, n*most), o.bytes(most, o.own...)
	torch.OK(AllGatherIntoTensor(o.d.Rank, all, own, o.g))
	data := o.read(all, func() (padded []byte) {
		for rank, size := range sizes {
			padded = append(append(padded, posted[rank][0]...), make([]byte, most-size)...)
		}
		return padded
	})
	for rank, size := range sizes {
		list = append(list, parcel{o.g.shared.ranks[rank], data[rank*most : rank*most+size]})
	}
	return list
}

// gather gives a rank the objects of all.
func (o *objects) gather(dst int) (list []parcel) {
	posted := o.post()
	sizes := o.gatherSizes(posted)
	var blocks []*torch.Tensor
	if o.g.shared.ranks[o.g.rank] == dst {
		for range sizes {
			blocks = append(blocks, o.empty(torch.U8, slices.Max(sizes)))
		}
	}
	own := o.bytes(slices.Max(sizes), o.own...)
	torch.OK(Gather(o.d.Rank, own, blocks, dst, o.g))
	for rank, x := range blocks {
		data := o.read(x, func() []byte { return posted[rank][0] })
		list = append(list, parcel{o.g.shared.ranks[rank], data[:sizes[rank]]})
	}
	return list
}

// broadcast gives the other ranks n objects of a rank.
func (o *objects) broadcast(n, src int) []parcel {
	o.nonempty(n)
	posted := o.post()
	if o.g.shared.ranks[o.g.rank] == src {
		sizes, all := o.sizes(o.own...), o.bytes(0, o.own...)
		torch.OK(Broadcast(o.d.Rank, sizes, src, o.g))
		torch.OK(Broadcast(o.d.Rank, all, src, o.g))
		return nil
	}
	sizes := o.empty(torch.I64, n)
	torch.OK(Broadcast(o.d.Rank, sizes, src, o.g))
	return o.unpack(sizes, src, func() [][]byte { return posted[o.d.root(ccl.Broadcast, o.g, src)] }, func(all *torch.Tensor) error { return Broadcast(o.d.Rank, all, src, o.g) })
}

// nonempty checks that a list has objects.
func (o *objects) nonempty(n int) {
	refuse(n == 0, o.op, "a list of no objects: give every rank a list of the same length, which receivers fill")
}

// unpack reads sizes that have come, receives bytes, and cuts them into objects.
func (o *objects) unpack(sizes *torch.Tensor, src int, posted func() [][]byte, receive func(all *torch.Tensor) error) (list []parcel) {
	lens := o.readSizes(sizes, posted)
	sum := 0
	for _, n := range lens {
		sum += n
	}
	all := o.empty(torch.U8, sum)
	torch.OK(receive(all))
	data := o.read(all, func() []byte { return slices.Concat(posted()...) })
	for _, n := range lens {
		list = append(list, parcel{src, data[:n]})
		data = data[n:]
	}
	return list
}

// scatter gives every rank its object of those of a rank.
func (o *objects) scatter(src int) []parcel {
	root, n := o.d.root(ccl.Scatter, o.g, src), len(o.g.shared.ranks)
	want, reason := n, "one for each rank"
	if root != o.g.rank {
		want, reason = 0, "the root alone gives a list"
	}
	refuse(len(o.own) != want, o.op, "%d objects to send, want %d: %s", len(o.own), want, reason)
	posted := o.post()
	most, size := o.empty(torch.I64, 1), o.empty(torch.I64, 1)
	var blocks, sizes []*torch.Tensor
	if root == o.g.rank {
		largest := slices.MaxFunc(o.own, shorter)
		most = o.sizes(largest)
		for _, b := range o.own {
			blocks, sizes = append(blocks, o.bytes(len(largest), b)), append(sizes, o.sizes(b))
		}
	}
	torch.OK(Broadcast(o.d.Rank, most, src, o.g))
	room := o.readSizes(most, func() [][]byte {
		return [][]byte{slices.MaxFunc(posted[root], shorter)}
	})
	own := o.empty(torch.U8, room[0])
	torch.OK(Scatter(o.d.Rank, own, blocks, src, o.g))
	torch.OK(Scatter(o.d.Rank, size, sizes, src, o.g))
	mine := func() []byte { return posted[root][o.g.rank] }
	used := o.readSizes(size, func() [][]byte { return [][]byte{mine()} })
	data := o.read(own, mine)
	return []parcel{{src, data[:used[0]]}}
}

// shorter compares objects by their sizes.
func shorter(a, b []byte) int { return len(a) - len(b) }

// send sends the objects to a rank.
func (o *objects) send(dst int) []parcel {
	o.nonempty(len(o.own))
	sizes, all := o.sizes(o.own...), o.bytes(0, o.own...)
	torch.OK(Send(o.d.Rank, sizes, dst, 0, o.g))
	torch.OK(Send(o.d.Rank, all, dst, 0, o.g))
	g, key := o.g.shared, [2]int{o.g.shared.ranks[o.g.rank], dst}
	g.sent[key] = append(g.sent[key], o.own)
	return nil
}

// receive receives n objects of a rank, and returns the rank too.
func (o *objects) receive(n, src int) (list []parcel, source int) {
	o.nonempty(n)
	sizes := o.empty(torch.I64, n)
	w := torch.Must(IRecv(o.d.Rank, sizes, src, 0, o.g))
	torch.OK(w.Wait())
	source = w.Source()
	key := [2]int{source, o.g.shared.ranks[o.g.rank]}
	queue := o.g.shared.sent[key]
	if len(queue) == 0 {
		torch.OK(fmt.Errorf("%s: rank %d has sent a tensor: send objects with SendObjectList", o.op, source))
	}
	o.g.shared.sent[key] = queue[1:]
	list = o.unpack(sizes, source, func() [][]byte { return queue[0] }, func(all *torch.Tensor) error { return Recv(o.d.Rank, all, source, 0, o.g) })
	return list, source
}
