package task

import (
	"strconv"

	"github.com/kernbench/kernbench/tl"
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

// title is the task in messages.
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

	by    *Builder // that records it; nil for a program that was made by hand
	index int      // among the programs of the builder
	out   []outward
}

// outward is an edge to another rank: a task, and a rank that gets a message when it ends.
type outward struct {
	task ID
	to   int
}

// rest returns how many tasks and outward edges are recorded up to a pause of the
// orchestration, or in all after the last one.
func (p *Program) rest(pause int) (tasks, out int) {
	if !p.waits(pause) {
		return len(p.Tasks), len(p.out)
	}
	at := p.by.pauses[pause].recorded[p.index]
	return at.tasks, at.out
}

// waits reports whether the orchestration has come to a pause of that number.
func (p *Program) waits(pause int) bool { return p.by != nil && pause < len(p.by.pauses) }

// recorded reports whether the orchestration has ended: no tasks follow.
func (p *Program) recorded() bool { return p.by == nil || p.by.built }
