package task

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// dispatches returns the names of the tasks in the order in which they were dispatched.
func (o *outcome) dispatches() (order []string) {
	for _, w := range o.Control {
		if w.Kind == Dispatching {
			order = append(order, o.programs[w.Rank].Tasks[w.Task].Name)
		}
	}
	return order
}

// TestGroupsAreNotOvertaken checks that a ready task group waits until enough compute cores
// are free and is then dispatched at once. No task that becomes ready later may start
// before the group.
func TestGroupsAreNotOvertaken(t *testing.T) {
	j := &job{ranks: 1, submit: func(b *Builder, _ []*Tensor) {
		first := b.Submit("first", count, Args{Scalar("n", 1)})
		b.Submit("long", count, Args{Scalar("n", 20000)}, After(first))
		b.Submit("short", count, Args{Scalar("n", 100)}, After(first))
		b.Submit("group", count, Args{Scalar("n", 10)}, After(first), Group(4))
		for i := range 12 {
			b.Submit(fmt.Sprint("single", i), count, Args{Scalar("n", 100)}, After(first))
		}
		b.Submit("all", count, Args{Scalar("n", 1)}, After(first), Group(4))
		b.Submit("last", count, Args{Scalar("n", 1)}, After(first))
	}}
	want := "[first long short group single0 single1 single2 single3 single4 single5 single6 single7 single8 single9 single10 single11 all last]"
	for _, r := range Runtimes {
		c := loadConfig(t, "control.compute_cores=4")
		out := j.mustRunSimulated(t, Options{Runtime: r, Config: c}, torch.Options{})
		if got := fmt.Sprint(out.dispatches()); got != want {
			t.Errorf("%s: tasks are dispatched in the order\n     %s\nwant %s", r, got, want)
		}
		byName := map[string]Span{}
		cores := map[int]bool{}
		for _, s := range out.Spans {
			byName[s.Name] = s
			if s.Name == "group" {
				cores[s.Core] = true
			}
		}
		long, group := byName["long"], byName["group"]
		if group.Ready >= long.End || group.Dispatched != long.Noticed {
			t.Errorf("%s: the group, ready at %v, is dispatched at %v, want %v, when %+v is over", r, group.Ready, group.Dispatched, long.Noticed, long)
		}
		if len(cores) != 4 {
			t.Errorf("%s: the group ran on the cores %v, want all 4", r, cores)
		}
		for name, s := range byName {
			if name != "long" && name != "short" && s.Dispatched > byName["first"].Dispatched && s.Begin < group.Begin {
				t.Errorf("%s: %s begins at %v, before the group at %v", r, name, s.Begin, group.Begin)
			}
		}
	}
}

// TestGroupsDoNotStarve checks that a task group starts although other tasks keep becoming
// ready: it starts before all tasks that become ready later.
func TestGroupsDoNotStarve(t *testing.T) {
	const chains, links = 3, 30
	j := &job{ranks: 1, submit: func(b *Builder, _ []*Tensor) {
		var last [chains][]ID
		for i := range links {
			for k := range chains {
				last[k] = []ID{b.Submit("link", count, Args{Scalar("n", 500*(k+1))}, After(last[k]...))}
			}
			if i == 0 {
				b.Submit("group", count, Args{Scalar("n", 1)}, Group(chains))
			}
		}
	}}
	for _, r := range Runtimes {
		out := j.mustRunSimulated(t, Options{Runtime: r, Config: loadConfig(t, fmt.Sprint("control.compute_cores=", chains))}, torch.Options{})
		order := out.dispatches()
		for i, name := range order[:chains+1] {
			if want := map[bool]string{false: "link", true: "group"}[i == chains]; name != want {
				t.Errorf("%s: tasks are dispatched in the order %v..., want the group behind the first links", r, order[:2*chains])
				break
			}
		}
	}
}

// TestGroupTooLarge checks that a task group with more members than there are compute cores
// is refused before anything runs.
func TestGroupTooLarge(t *testing.T) {
	for _, members := range []int{4, 5} {
		j := &job{ranks: 1, submit: func(b *Builder, _ []*Tensor) {
			b.Submit("narrow", count, Args{Scalar("n", 1)})
			b.Submit("wide", count, Args{Scalar("n", 1)}, Group(members))
		}}
		line := j.program(t, 0).Tasks[1].Line
		want := fmt.Sprintf("rank 0: task 1 (wide) at %s is a group of 5, and the rank has 4 compute cores: make it smaller, or give the rank more, by tasks.control.compute_cores or a larger device", line)
		if members == 4 {
			want = "<nil>"
		}
		for _, r := range Runtimes {
			o := Options{Runtime: r, Config: loadConfig(t, "control.compute_cores=4")}
			errs := j.runBoth(t, o)
			errs["checked"] = j.program(t, 0).Check(o)
			for where, err := range errs {
				if got := fmt.Sprint(err); got != want {
					t.Errorf("%s: a group of %d on 4 cores under %s: got\n     %s\nwant %s", where, members, r, got, want)
				}
			}
		}
	}
}
