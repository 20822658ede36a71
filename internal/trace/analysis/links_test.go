package analysis

import (
	"fmt"
	"testing"
)

// TestLinks checks the utilization of links in a launch from 10 ns to 30 ns and in the
// whole trace. The trace has trains before, in and after the launch.
func TestLinks(t *testing.T) {
	b := newBuilder()
	b.activity("pe0", "cpu", "run", 10*ns, 30*ns, 1, 0)
	b.launch(0, 1, 10*ns, 20*ns, "pe0", 1)
	b.slice("sip0 links", "a->b", "compute", 0, 4*ns, `"bytes":400,"wait_ns":7`)
	b.slice("sip0 links", "a->b", "compute", 10*ns, 18*ns, `"bytes":600,"wait_ns":0.5`)
	b.slice("sip0 links", "a->b", "comm", 20*ns, 22*ns, `"bytes":200,"wait_ns":1.5`)
	b.slice("sip0 links", "b->c", "comm", 12*ns, 13*ns, `"bytes":100,"wait_ns":0`)
	b.slice("sip0 links", "c->d", "comm", 30*ns, 40*ns, `"bytes":100,"wait_ns":9`)
	b.slice("sip0 links", "d->e", "comm", 29*ns, 30*ns, `"bytes":100,"wait_ns":3`)
	b.other = `{"links":[
{"name":"a->b","kind":"noc","bytes":1200,"busy_ns":6,"queued_ns":0},
{"name":"b->c","kind":"noc","bytes":100,"busy_ns":0.5,"queued_ns":0},
{"name":"c->d","kind":"hbm","bytes":100,"busy_ns":10,"queued_ns":0},
{"name":"d->e","kind":"hbm","bytes":100,"busy_ns":1,"queued_ns":0}]}`
	trace := b.read(t)
	r, err := trace.Analyse(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := "20ns [{noc 2 900 0.1125 0.2 a->b 2ns} {hbm 1 100 0.05 0.05 d->e 3ns}]\n" +
		"[{a->b noc 800 4ns 0.2 2 2ns 1ns 0.15} {d->e hbm 100 1ns 0.05 1 3ns 3ns 0.025}]\n" +
		"[{d->e hbm 100 1ns 0.05 1 3ns 3ns 0.025} {a->b noc 800 4ns 0.2 2 2ns 1ns 0.15}]"
	if got := linksText(r.Links); got != want {
		t.Errorf("in the launch: got\n%s\nwant\n%s", got, want)
	}
	want = "40ns [{noc 2 1300 0.08125 0.15 a->b 9ns} {hbm 2 200 0.1375 0.25 c->d 12ns}]\n" +
		"[{c->d hbm 100 10ns 0.25 1 9ns 9ns 0.25}]\n" +
		"[{a->b noc 1200 6ns 0.15 3 9ns 3ns 0.15}]"
	if got := linksText(trace.Links(0, 40*ns, 1)); got != want {
		t.Errorf("in the whole trace: got\n%s\nwant\n%s", got, want)
	}
}

func linksText(l Links) string {
	return fmt.Sprintf("%v %v\n%v\n%v", l.Time, l.Kinds, l.Busiest, l.Queued)
}
