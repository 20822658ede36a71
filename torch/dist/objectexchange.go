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

// objects holds the state of one rank during a call that exchanges objects. If an operation
// fails, its methods panic with a *torch.Failure, as torch.Must and torch.OK do.
type objects struct {
	d       *state
	op      string
	g       *Group
	own     [][]byte        // the encoded objects of the rank
	tensors []*torch.Tensor // temporary tensors, freed at the end
}

// track records that x, a new tensor, must be freed at the end of the call, and returns x.
// If err is not nil, track panics.
func (o *objects) track(x *torch.Tensor, err error) *torch.Tensor {
	if err != nil {
		torch.OK(fmt.Errorf("%s: %w", o.op, err))
	}
	o.tensors = append(o.tensors, x)
	return x
}

// empty returns a new tensor of n elements to receive into.
func (o *objects) empty(dtype torch.DType, n int) *torch.Tensor {
	return o.track(o.d.Empty(dtype, torch.Shape{n}))
}

// bytes returns a new tensor with the concatenated data, padded with zeros to at least n
// bytes.
func (o *objects) bytes(n int, data ...[]byte) *torch.Tensor {
	all := slices.Concat(data...)
	all = append(all, make([]byte, max(0, n-len(all)))...)
	return o.track(o.d.FromNumpy(&torch.Array{Shape: torch.Shape{len(all)}, DType: torch.U8, Bytes: all}))
}

// sizes returns a new tensor with the sizes in bytes of the encoded objects in list.
func (o *objects) sizes(list ...[]byte) *torch.Tensor {
	return o.track(o.d.FromSlice(lengths(list), torch.I64, torch.Shape{len(list)}))
}

// lengths returns the length of each element of list.
func lengths(list [][]byte) []int {
	return lists.Map(list, func(b []byte) int { return len(b) })
}

// read waits for x, copies it to the host and returns its bytes. A run without values takes
// the same time; there, read returns posted(), the bytes that the sender has stored on the
// host.
func (o *objects) read(x *torch.Tensor, posted func() []byte) []byte {
	data := torch.Must(hosted.Read(o.d.Rank, x))
	if !o.d.HasData() {
		return posted()
	}
	return data
}

// readSizes waits for x, a tensor of sizes, and copies it to the host. In a run without
// values it returns the sizes of posted(), the encoded objects that the sender has stored
// on the host.
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

// post stores the encoded objects of this rank on the host, where other ranks find them in
// a run without values. It returns the stored objects of this call, by rank of the group.
// The map contains all ranks only after the next collective, which waits for all of them.
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

// gatherSizes exchanges the sizes of the encoded objects of all ranks and returns these
// sizes. `posted` is the result of the method `post`.
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

// allGather exchanges the objects of all ranks and returns them, in the order of the ranks.
func (o *objects) allGather() (list []receivedObject) {
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
		list = append(list, receivedObject{o.g.shared.ranks[rank], data[rank*most : rank*most+size]})
	}
	return list
}

// gather sends the objects of all ranks to rank dst of the world. On rank dst it returns
// the objects in the order of the ranks. On all other ranks it returns nil.
func (o *objects) gather(dst int) (list []receivedObject) {
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
		list = append(list, receivedObject{o.g.shared.ranks[rank], data[:sizes[rank]]})
	}
	return list
}

// broadcast sends the n objects of rank src of the world to all other ranks. On the other
// ranks it returns these objects, and on rank src nil.
func (o *objects) broadcast(n, src int) []receivedObject {
	o.checkNonempty(n)
	posted := o.post()
	if o.g.shared.ranks[o.g.rank] == src {
		sizes, all := o.sizes(o.own...), o.bytes(0, o.own...)
		torch.OK(Broadcast(o.d.Rank, sizes, src, o.g))
		torch.OK(Broadcast(o.d.Rank, all, src, o.g))
		return nil
	}
	sizes := o.empty(torch.I64, n)
	torch.OK(Broadcast(o.d.Rank, sizes, src, o.g))
	return o.unpack(sizes, src, func() [][]byte { return posted[o.d.groupRankOf(ccl.Broadcast, o.g, src)] }, func(all *torch.Tensor) error { return Broadcast(o.d.Rank, all, src, o.g) })
}

// checkNonempty panics if n, the length of a list of objects, is 0.
func (o *objects) checkNonempty(n int) {
	refuse(n == 0, o.op, "a list of no objects: give every rank a list of the same length, which receivers fill")
}

// unpack reads the sizes of the objects from a tensor, calls `receive`, which receives the
// bytes of all objects into another tensor, and splits the bytes into objects. src is the
// sender. posted returns the objects that the sender has stored on the host.
func (o *objects) unpack(sizes *torch.Tensor, src int, posted func() [][]byte, receive func(all *torch.Tensor) error) (list []receivedObject) {
	lens := o.readSizes(sizes, posted)
	sum := 0
	for _, n := range lens {
		sum += n
	}
	all := o.empty(torch.U8, sum)
	torch.OK(receive(all))
	data := o.read(all, func() []byte { return slices.Concat(posted()...) })
	for _, n := range lens {
		list = append(list, receivedObject{src, data[:n]})
		data = data[n:]
	}
	return list
}

// scatter divides the list of objects of one rank among the ranks of the group: object i
// goes to rank i of the group. src is the sender, as a rank of the world. scatter returns
// the object that this rank receives.
func (o *objects) scatter(src int) []receivedObject {
	root, n := o.d.groupRankOf(ccl.Scatter, o.g, src), len(o.g.shared.ranks)
	want, reason := n, "one for each rank"
	if root != o.g.rank {
		want, reason = 0, "the root alone gives a list"
	}
	refuse(len(o.own) != want, o.op, "%d objects to send, want %d: %s", len(o.own), want, reason)
	posted := o.post()
	most, size := o.empty(torch.I64, 1), o.empty(torch.I64, 1)
	var blocks, sizes []*torch.Tensor
	if root == o.g.rank {
		largest := slices.MaxFunc(o.own, compareLengths)
		most = o.sizes(largest)
		for _, b := range o.own {
			blocks, sizes = append(blocks, o.bytes(len(largest), b)), append(sizes, o.sizes(b))
		}
	}
	torch.OK(Broadcast(o.d.Rank, most, src, o.g))
	room := o.readSizes(most, func() [][]byte {
		return [][]byte{slices.MaxFunc(posted[root], compareLengths)}
	})
	own := o.empty(torch.U8, room[0])
	torch.OK(Scatter(o.d.Rank, own, blocks, src, o.g))
	torch.OK(Scatter(o.d.Rank, size, sizes, src, o.g))
	mine := func() []byte { return posted[root][o.g.rank] }
	used := o.readSizes(size, func() [][]byte { return [][]byte{mine()} })
	data := o.read(own, mine)
	return []receivedObject{{src, data[:used[0]]}}
}

// compareLengths compares encoded objects by their sizes, for sorting.
func compareLengths(a, b []byte) int { return len(a) - len(b) }

// send sends the objects of this rank to rank dst of the world. It returns nil.
func (o *objects) send(dst int) []receivedObject {
	o.checkNonempty(len(o.own))
	sizes, all := o.sizes(o.own...), o.bytes(0, o.own...)
	torch.OK(Send(o.d.Rank, sizes, dst, 0, o.g))
	torch.OK(Send(o.d.Rank, all, dst, 0, o.g))
	g, key := o.g.shared, [2]int{o.g.shared.ranks[o.g.rank], dst}
	g.sent[key] = append(g.sent[key], o.own)
	return nil
}

// receive receives n objects from rank src of the world, which may be AnySource. It returns
// the objects and the rank of the sender in the world.
func (o *objects) receive(n, src int) (list []receivedObject, source int) {
	o.checkNonempty(n)
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
