package procpe

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/tl"
)

// runOnOne runs a kernel on one rank. The kernel gets a pointer x to a tensor of n floats
// in a window.
func runOnOne(b *testing.B, n int, kernel func(t *tl.PE, x tl.Ptr)) {
	b.Helper()
	errs := forEachRank(b, 1, setup{}, func(c *comm.Comm, r *Rank) error {
		w, err := c.AllocWindow(int64(4*n), 0)
		if err != nil {
			return err
		}
		return r.Launch("bench", kernel, Tensor{Name: "x", DType: tl.F32, Shape: tl.Shape{n}, Window: w})
	})
	if errs[0] != nil {
		b.Fatal(errs[0])
	}
}

// BenchmarkAdd measures three operations of a kernel together: a load, an addition and a
// store.
func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{16, 1024, 65536} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(4 * n))
			s := tl.Shape{n}
			runOnOne(b, n, func(t *tl.PE, x tl.Ptr) {
				for b.Loop() {
					t.Store(x, t.Load(x, s, tl.F32).Add(1))
				}
			})
		})
	}
}

// BenchmarkPut measures a Put of 4096 elements into contiguous memory, and into a column of
// a matrix.
func BenchmarkPut(b *testing.B) {
	const n = 4096
	for _, c := range []struct {
		name string
		to   func(x tl.Ptr) tl.Ptr
	}{{"contiguous", func(x tl.Ptr) tl.Ptr { return x }}, {"column", func(x tl.Ptr) tl.Ptr { return x.Strided(64) }}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(4 * n)
			runOnOne(b, 64*n, func(t *tl.PE, x tl.Ptr) {
				tile := t.Zeros(tl.Shape{n}, tl.F32)
				for b.Loop() {
					t.Put(0, c.to(x), tile)
				}
			})
		})
	}
}

// BenchmarkPingPong measures a round trip between two ranks that are goroutines: each rank
// in turn puts data and notifies the other rank.
func BenchmarkPingPong(b *testing.B) {
	errs := forEachRank(b, 2, setup{}, func(c *comm.Comm, r *Rank) error {
		w, err := c.AllocWindow(64, 0)
		if err != nil {
			return err
		}
		return r.Launch("pingpong", func(t *tl.PE, x tl.Ptr, n int) {
			me := t.Rank()
			tile := t.Zeros(tl.Shape{16}, tl.F32)
			for i := 1; i <= n; i++ {
				if me == 0 {
					t.Put(1, x, tile)
					t.Notify(1, 0, tl.Set, i)
				}
				t.WaitSignal(0, tl.EQ, i)
				if me == 1 {
					t.Put(0, x, tile)
					t.Notify(0, 0, tl.Set, i)
				}
			}
		}, Tensor{Name: "x", DType: tl.F32, Shape: tl.Shape{16}, Window: w}, b.N)
	})
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLaunch measures a launch of an empty kernel.
func BenchmarkLaunch(b *testing.B) {
	for _, ranks := range []int{1, 2} {
		b.Run(fmt.Sprint(ranks), func(b *testing.B) {
			b.ReportAllocs()
			errs := forEachRank(b, ranks, setup{}, func(_ *comm.Comm, r *Rank) error {
				for range b.N {
					if err := r.Launch("empty", func(*tl.PE) {}); err != nil {
						return err
					}
				}
				return nil
			})
			if errs[0] != nil {
				b.Fatal(errs[0])
			}
		})
	}
}

// BenchmarkWorker measures how long one worker takes to run a kernel that never waits.
func BenchmarkWorker(b *testing.B) {
	for _, c := range []struct {
		name string
		body func(m tl.Machine)
	}{
		{"empty", func(tl.Machine) {}},
		{"one tile", func(m tl.Machine) { tl.NewPE(m, "tile").Zeros(tl.Shape{16}, tl.F32) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			benchSession(b, 1, func(_ *comm.Comm, s *Session) error {
				w := s.NewWorker()
				for range b.N {
					w.Start(c.name, c.body)
				}
				return w.Err()
			})
		})
	}
}

// BenchmarkSwitch measures two kernels of one rank that wake each other in turn. A turn has
// two waits, two notifications and two resumes.
func BenchmarkSwitch(b *testing.B) {
	b.ReportAllocs()
	benchSession(b, 1, func(_ *comm.Comm, s *Session) error {
		workers := []*Worker{s.NewWorker(), s.NewWorker()}
		for i, w := range workers {
			w.Start("turns", func(m tl.Machine) {
				t := tl.NewPE(m, "turns")
				for turn := 1; turn <= b.N; turn++ {
					if i == 0 {
						t.Notify(0, 1, tl.Set, turn)
					}
					t.WaitSignal(i, tl.EQ, turn)
					if i == 1 {
						t.Notify(0, 0, tl.Set, turn)
					}
				}
			})
		}
		return runToEnd(s, workers...)
	})
}

// BenchmarkPoll measures a test of a signal that returns false. It includes a pause of the
// worker, a Session.Wait that returns at once, and a resume.
func BenchmarkPoll(b *testing.B) {
	b.ReportAllocs()
	benchSession(b, 1, func(_ *comm.Comm, s *Session) error {
		w := s.NewWorker()
		w.Start("poll", func(m tl.Machine) {
			t := tl.NewPE(m, "poll")
			for range b.N {
				t.Test(0, tl.EQ, 1)
			}
		})
		workers := []*Worker{w}
		for w.Running() {
			if err := s.Wait(workers); err != nil {
				return err
			}
			w.Resume()
		}
		return w.Err()
	})
}

// BenchmarkPingPongOfWorkers measures a round trip of notifications between two ranks,
// without data. At each rank one worker takes part, while the other workers only wait.
func BenchmarkPingPongOfWorkers(b *testing.B) {
	for _, n := range []int{1, 2, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			benchSession(b, 2, func(c *comm.Comm, s *Session) error {
				me, peer := c.Rank(), 1-c.Rank()
				workers := make([]*Worker, n)
				for i := range workers {
					workers[i] = s.NewWorker()
					workers[i].Start("pingpong", func(m tl.Machine) {
						t := tl.NewPE(m, "pingpong")
						if i > 0 { // only waits for the end
							t.WaitSignal(0, tl.EQ, b.N)
							return
						}
						for turn := 1; turn <= b.N; turn++ {
							if me == 0 {
								t.Notify(peer, 0, tl.Set, turn)
							}
							t.WaitSignal(0, tl.EQ, turn)
							if me == 1 {
								t.Notify(peer, 0, tl.Set, turn)
							}
						}
					})
				}
				return runToEnd(s, workers...)
			})
		})
	}
}

// benchSession begins a session at each rank and runs f in it.
func benchSession(b *testing.B, ranks int, f func(c *comm.Comm, s *Session) error) {
	b.Helper()
	errs := forEachRank(b, ranks, setup{}, func(c *comm.Comm, r *Rank) error {
		s, err := r.Begin("bench")
		if err != nil {
			return err
		}
		defer s.End()
		return f(c, s)
	})
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
}
