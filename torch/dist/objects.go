package dist

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"errors"
	"fmt"
	"reflect"

	"github.com/kernbench/kernbench/torch"
)

// AllGatherObject gives every rank a copy of the object of each, by rank of the group.
//
// Objects are values of the host that package encoding/gob can encode: exported fields of
// structs, slices, maps, strings, numbers, and values of interfaces whose types were given to
// gob.Register. An object that is a nil pointer, or refers to itself, is an error. Like those
// of PyTorch, which are pickled, they are encoded, and the bytes travel in U8 tensors between
// the devices, after their sizes. Receivers wait for them.
func AllGatherObject[T any](r *torch.Rank, object T, group ...*Group) ([]T, error) {
	return transfer(r, "all_gather_object", group, []T{object}, func(o *objects) []parcel { return o.allGather() })
}

// GatherObject gives rank dst of the world a copy of the object of each rank, by rank of the
// group. The other ranks get none. Objects are as for AllGatherObject.
func GatherObject[T any](r *torch.Rank, object T, dst int, group ...*Group) ([]T, error) {
	return transfer(r, "gather_object", group, []T{object}, func(o *objects) []parcel { return o.gather(dst) })
}

// BroadcastObjectList gives every rank copies of the objects in the list of rank src of the
// world. The other ranks' lists are as long, and are written over. Objects are as for
// AllGatherObject.
func BroadcastObjectList[T any](r *torch.Rank, list []T, src int, group ...*Group) error {
	var own []T
	if r.Rank() == src {
		own = list
	}
	got, err := transfer(r, "broadcast_object_list", group, own, func(o *objects) []parcel { return o.broadcast(len(list), src) })
	copy(list, got)
	return err
}

// ScatterObjectList gives every rank a copy of its object in the list of rank src of the
// world, which has one for each rank of the group. The other ranks give no list. Objects are
// as for AllGatherObject.
func ScatterObjectList[T any](r *torch.Rank, list []T, src int, group ...*Group) (object T, err error) {
	got, err := transfer(r, "scatter_object_list", group, list, func(o *objects) []parcel { return o.scatter(src) })
	if err != nil {
		return object, err
	}
	return got[0], nil
}

// SendObjectList sends copies of objects to rank dst of the world, as two messages with tag
// 0. Objects are as for AllGatherObject.
func SendObjectList[T any](r *torch.Rank, list []T, dst int, group ...*Group) error {
	_, err := transfer(r, "send_object_list", group, list, func(o *objects) []parcel { return o.send(dst) })
	return err
}

// RecvObjectList receives as many objects as the list has from rank src of the world, or from
// AnySource, into the list. It returns the rank of the world that sent them.
func RecvObjectList[T any](r *torch.Rank, list []T, src int, group ...*Group) (source int, err error) {
	got, err := transfer[T](r, "recv_object_list", group, nil, func(o *objects) (all []parcel) {
		all, source = o.receive(len(list), src)
		return all
	})
	copy(list, got)
	return source, err
}

// parcel is an encoded object with its sender.
type parcel struct {
	from  int // rank of the world
	bytes []byte
}

// exchanged has objects exchanged, and frees the tensors that were made for them.
func (o *objects) exchanged(exchange func(*objects) []parcel) (list []parcel, err error) {
	defer func() {
		reason := recover()
		if failure, ok := reason.(*torch.Failure); ok {
			err = failure.Err
		} else if reason != nil {
			panic(reason)
		}
	}()
	list = exchange(o)
	for _, x := range o.made {
		torch.OK(x.Free())
	}
	return list, nil
}

// transfer encodes a rank's objects, has them exchanged, and decodes what comes.
func transfer[T any](r *torch.Rank, op string, group []*Group, own []T, exchange func(*objects) []parcel) (list []T, err error) {
	d := of(r)
	g, err := d.group(op, group)
	if err != nil {
		return nil, err
	}
	refuse(!d.w.spawned, op, "objects are those of workers of Spawn")
	refuse(d.coalescing != nil, op, "it waits, and is not coalesced with collectives")
	if g.rank < 0 {
		return nil, fmt.Errorf("%s: rank %d is not in %s: call it on these alone", op, d.s.Number, g.described())
	}
	o := &objects{d: d, op: op, g: g}
	for i := range own {
		var b bytes.Buffer
		err := checkObject(reflect.ValueOf(&own[i]))
		if err == nil {
			err = gob.NewEncoder(&b).Encode(&own[i])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: object %d of type %v cannot be encoded: %w: use types that encoding/gob takes, with exported fields; types in an interface are given to gob.Register first", op, i, reflect.TypeFor[T](), err)
		}
		o.own = append(o.own, b.Bytes())
	}
	parcels, err := o.exchanged(exchange)
	if err != nil {
		return nil, err
	}
	for _, p := range parcels {
		var object T
		if err := gob.NewDecoder(bytes.NewReader(p.bytes)).Decode(&object); err != nil {
			return nil, fmt.Errorf("%s: the object of rank %d is no %v: %w: use one type on all ranks", op, p.from, reflect.TypeFor[T](), err)
		}
		list = append(list, object)
	}
	return list, nil
}

// maxNesting is how many pointers, interfaces, slices, maps and structs of an object may be
// inside each other. Package encoding/gob calls itself for each, without end for an object
// that refers to itself.
const maxNesting = 200_000

// encoders is the interfaces of values that encode themselves.
var encoders = []reflect.Type{reflect.TypeFor[gob.GobEncoder](), reflect.TypeFor[encoding.BinaryMarshaler]()}

// checkObject returns an error for a value that package encoding/gob cannot encode, and does
// not refuse: one that refers to itself, or a nil pointer, which would arrive as a pointer to
// zeros.
func checkObject(v reflect.Value) error {
	if err := checkNesting(v, 0); err != nil {
		return err
	}
	for v.Kind() == reflect.Pointer {
		if v = v.Elem(); !v.IsValid() {
			return errors.New("it is a nil pointer")
		}
	}
	return nil
}

// checkNesting returns an error for a value that refers to itself, or is nested too deeply.
// It looks at what package encoding/gob encodes.
func checkNesting(v reflect.Value, depth int) (err error) {
	if depth > maxNesting {
		return fmt.Errorf("it refers to itself, or is nested more than %d deep", maxNesting)
	}
	if !v.IsValid() || !nests(v.Type()) {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return checkNesting(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && err == nil && nests(v.Type().Elem()); i++ {
			err = checkNesting(v.Index(i), depth+1)
		}
	case reflect.Map:
		for i := v.MapRange(); err == nil && i.Next(); {
			if err = checkNesting(i.Key(), depth+1); err == nil {
				err = checkNesting(i.Value(), depth+1)
			}
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			if v.Type().Field(i).IsExported() {
				err = checkNesting(v.Field(i), depth+1)
			}
		}
	}
	return err
}

// nests reports whether values of a type may have others inside that gob encodes.
func nests(t reflect.Type) bool {
	for _, e := range encoders {
		if t.Implements(e) || reflect.PointerTo(t).Implements(e) {
			return t.Kind() == reflect.Interface
		}
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		return true
	}
	return false
}
