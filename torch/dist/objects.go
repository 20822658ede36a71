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

// AllGatherObject returns a copy of every rank's object, in the order of the ranks of the
// group.
//
// Objects are Go values that package encoding/gob can encode: exported fields of structs,
// slices, maps, strings, numbers, and values in interfaces whose types were passed to
// gob.Register. An object that is a nil pointer or refers to itself is an error. The
// objects are encoded, as PyTorch pickles its objects. The devices first exchange the
// sizes, and then the bytes in U8 tensors. Receivers wait for the objects.
func AllGatherObject[T any](r *torch.Rank, object T, group ...*Group) ([]T, error) {
	return exchangeObjects(r, "all_gather_object", group, []T{object}, func(o *objects) []receivedObject { return o.allGather() })
}

// GatherObject sends a copy of every rank's object to rank dst of the world. On that rank
// it returns the copies in the order of the ranks of the group. On the other ranks it
// returns nil. AllGatherObject describes what an object can be.
func GatherObject[T any](r *torch.Rank, object T, dst int, group ...*Group) ([]T, error) {
	return exchangeObjects(r, "gather_object", group, []T{object}, func(o *objects) []receivedObject { return o.gather(dst) })
}

// BroadcastObjectList copies the objects in the list of rank src of the world into the
// lists of the other ranks. All lists must have the same length. AllGatherObject describes
// what an object can be.
func BroadcastObjectList[T any](r *torch.Rank, list []T, src int, group ...*Group) error {
	var own []T
	if r.Rank() == src {
		own = list
	}
	got, err := exchangeObjects(r, "broadcast_object_list", group, own, func(o *objects) []receivedObject { return o.broadcast(len(list), src) })
	copy(list, got)
	return err
}

// ScatterObjectList sends one object of the list to each rank of the group, and returns the
// object for the caller. The sender is `src`, a rank of the world, which passes the list.
// The other ranks pass no list. AllGatherObject describes what an object can be.
func ScatterObjectList[T any](r *torch.Rank, list []T, src int, group ...*Group) (object T, err error) {
	got, err := exchangeObjects(r, "scatter_object_list", group, list, func(o *objects) []receivedObject { return o.scatter(src) })
	if err != nil {
		return object, err
	}
	return got[0], nil
}

// SendObjectList sends copies of the objects in list to rank dst of the world, as two
// messages with tag 0. AllGatherObject describes what an object can be.
func SendObjectList[T any](r *torch.Rank, list []T, dst int, group ...*Group) error {
	_, err := exchangeObjects(r, "send_object_list", group, list, func(o *objects) []receivedObject { return o.send(dst) })
	return err
}

// RecvObjectList fills list with objects from rank src of the world, or from AnySource. The
// sender's list must have the same length. RecvObjectList returns the sender's rank in the
// world.
func RecvObjectList[T any](r *torch.Rank, list []T, src int, group ...*Group) (source int, err error) {
	got, err := exchangeObjects[T](r, "recv_object_list", group, nil, func(o *objects) (all []receivedObject) {
		all, source = o.receive(len(list), src)
		return all
	})
	copy(list, got)
	return source, err
}

// receivedObject is an encoded object that was received, with its sender.
type receivedObject struct {
	from  int // the sender, as a rank of the world
	bytes []byte
}

// runExchange calls exchange(o), frees the temporary tensors of o, and returns the received
// objects. If this call panics with a *torch.Failure, runExchange returns the error of the
// failure.
func (o *objects) runExchange(exchange func(*objects) []receivedObject) (list []receivedObject, err error) {
	defer func() {
		reason := recover()
		if failure, ok := reason.(*torch.Failure); ok {
			err = failure.Err
		} else if reason != nil {
			panic(reason)
		}
	}()
	list = exchange(o)
	for _, x := range o.tensors {
		torch.OK(x.Free())
	}
	return list, nil
}

// exchangeObjects encodes the objects of this rank (own) and calls `exchange`, which sends
// and receives encoded objects. It decodes the received objects and returns them. op is the
// name of the calling function, for errors.
func exchangeObjects[T any](r *torch.Rank, op string, group []*Group, own []T, exchange func(*objects) []receivedObject) (list []T, err error) {
	d := stateOf(r)
	g, err := d.group(op, group)
	if err != nil {
		return nil, err
	}
	refuse(!d.w.spawned, op, "objects are those of workers of Spawn")
	refuse(d.coalescing != nil, op, "it waits, and is not coalesced with collectives")
	if g.rank < 0 {
		return nil, fmt.Errorf("%s: rank %d is not in %s: call it on these alone", op, d.s.Number, g.describe())
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
	parcels, err := o.runExchange(exchange)
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

// maxNesting is the maximum depth of nested pointers, interfaces, slices, maps and structs
// in an object. Package encoding/gob recurses at each level, without end for an object that
// refers to itself.
const maxNesting = 200_000

// encoders lists the interfaces of types that encode themselves for package encoding/gob.
var encoders = []reflect.Type{reflect.TypeFor[gob.GobEncoder](), reflect.TypeFor[encoding.BinaryMarshaler]()}

// checkObject returns an error if package encoding/gob would accept the value v but not
// encode it correctly. That is so for a value that refers to itself, and for a nil pointer,
// which would arrive as a pointer to zeros.
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

// checkNesting returns an error if the value v refers to itself or is nested too deeply. It
// visits the same parts of v that package encoding/gob encodes. depth is the depth of v in
// the object.
func checkNesting(v reflect.Value, depth int) (err error) {
	if depth > maxNesting {
		return fmt.Errorf("it refers to itself, or is nested more than %d deep", maxNesting)
	}
	if !v.IsValid() || !canNest(v.Type()) {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return checkNesting(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && err == nil && canNest(v.Type().Elem()); i++ {
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

// canNest reports whether values of type t may contain other values that package
// encoding/gob encodes.
func canNest(t reflect.Type) bool {
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
