package task

import (
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Task is one task of a program.
type Task struct {
	Name    string
	Members int // PEs that it runs on at once
	Args    Args
	ID      ID     // that Submit returned
	After   []ID   // explicit edges from tasks of the same rank, by their numbers in its program
	Across  []Ref  // explicit edges from tasks of other ranks
	Scope   int32  // index of the innermost scope in the program, -1 outside of all
	Depth   int32  // scopes that it is in
	Line    string // of the orchestration
	// Neighbors is the queues between the members, which A and B count from 0.
	Neighbors []torch.Connection
	Buffers   topology.BufferKind // memory of their slots; "" is that of the topology

	// Tasks that it conflicts with, in an orchestration of all ranks: of its own rank, and of
	// others.
	found       []ID
	foundAcross []Ref

	tables []func(members ...int) []torch.Connection // that Neighbors is made of

	rank  int   // that OnRank names, -1 for none
	after []ID  // that After names
	read  []Ref // tasks whose values had been read at its submission, as in recording
	bound *tl.Binding
}

// Ref is a task of a rank, by its number in the program of that rank.
type Ref struct {
	Rank int32
	Task ID
}

// edges returns the number of explicit edges to the task.
func (t *Task) edges() int { return len(t.After) + len(t.Across) }

// title returns the name and the number of the task, for messages.
func (t *Task) title() string { return t.Name + " (task " + strconv.Itoa(int(t.ID)) + ")" }

// Scope is a part of a program whose tasks keep their storage until it ends.
type Scope struct {
	Name       string
	First, End ID // the tasks submitted in it, and in scopes within it: from First to before End
	Line       string
}

// Program is the tasks of one rank, in the order of submission.
type Program struct {
	Rank, Ranks int
	Tasks       []Task
	Scopes      []Scope
	Tensors     []*Tensor

	by    *Builder     // that records it; nil for a program that was made by hand
	index int          // among the programs of the builder
	out   [2][]outward // those of explicit edges, and those of inferred ones as well
}

// outward is an edge to another rank: a task, and a rank that gets a message when it ends.
type outward struct {
	task ID
	to   int
}

// recordedUntil returns how much of the program is recorded up to a pause of the
// orchestration, or in all after the last one.
func (p *Program) recordedUntil(pause int) extent {
	if p.waits(pause) {
		return p.by.pauses[pause].recorded[p.index]
	}
	return extent{len(p.Tasks), [2]int{len(p.out[0]), len(p.out[1])}}
}

// across returns the tasks of other ranks that a task waits for, with inferred edges or
// without.
func (t *Task) across(inferred bool) []Ref {
	if !inferred || len(t.foundAcross) == 0 {
		return t.Across
	}
	return slices.Concat(t.Across, t.foundAcross)
}

// waits reports whether the orchestration has come to a pause of that number.
func (p *Program) waits(pause int) bool { return p.by != nil && pause < len(p.by.pauses) }

// recorded reports whether the orchestration has ended: no tasks follow.
func (p *Program) recorded() bool { return p.by == nil || p.by.built }
