package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// TestEachIsInOrder checks that Run calls the function `each` in the order of points, and
// as early as possible, even if the points end in another order. Each of the points 0 to 2
// waits for the next point. Point 4 waits until the rows of points 0 to 3 were delivered.
func TestEachIsInOrder(t *testing.T) {
	var ended [5]chan struct{}
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	given := make(chan struct{})
	var got []int
	_, err := Run(t.Context(), Options{Workers: 4}, linePoints(5), func(_ context.Context, _ int, p Point) (int, error) {
		i, _ := strconv.Atoi(p.Get("n"))
		switch i {
		case 4:
			<-given
		case 3:
		default:
			<-ended[i+1]
		}
		close(ended[i])
		return 10 * i, nil
	}, func(index, row int) {
		got = append(got, index, row)
		if index == 3 {
			close(given)
		}
	})
	if want := []int{0, 0, 1, 10, 2, 20, 3, 30, 4, 40}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// TestEachSkipsFailures checks that a failed point does not delay the rows of other points.
func TestEachSkipsFailures(t *testing.T) {
	var got []int
	_, err := Run(t.Context(), Options{Workers: 2}, numbers, func(ctx context.Context, _ int, p Point) (row, error) {
		if p.Get("n") == "2" {
			return row{}, errors.New("no luck")
		}
		return nameRow(ctx, 0, p)
	}, func(index int, _ row) { got = append(got, index) })
	if want := []int{0, 2, 3, 5}; !errors.As(err, new(*Failed)) || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v and the failures", got, err, want)
	}
}

// TestStop checks that a sweep with Stop ends at the first failure in the order of points,
// after all rows before it. Later points are cancelled or never start. With enough workers,
// the points end in reverse order. If ctx is cancelled before a point that precedes the
// failure has ended, the error is that of ctx.
func TestStop(t *testing.T) {
	for workers := 1; workers <= 6; workers++ {
		synctest.Test(t, func(t *testing.T) {
			var got []int
			rows, err := Run(t.Context(), Options{Workers: workers, Stop: true}, linePoints(20), func(ctx context.Context, _ int, p Point) (string, error) {
				i, _ := strconv.Atoi(p.Get("n"))
				if i > 4 {
					<-ctx.Done() // ends only when the point is cancelled
					return "", ctx.Err()
				}
				time.Sleep(time.Duration(5-i) * time.Second)
				if i == 2 || i == 3 {
					return "", fmt.Errorf("job %d", i)
				}
				return p.Get("n"), nil
			}, func(index int, _ string) { got = append(got, index) })
			var first *PointError
			if !errors.As(err, &first) || err.Error() != "point 2 (n=2): job 2" || first.Err.Error() != "job 2" {
				t.Errorf("%d workers: got %v, want that of point 2", workers, err)
			}
			if !slices.Equal(got, []int{0, 1}) || !slices.Equal(rows, []string{"0", "1"}) {
				t.Errorf("%d workers: got %v and rows %v, want 0 and 1", workers, got, rows)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, Options{Workers: 2, Stop: true}, linePoints(2), func(ctx context.Context, _ int, p Point) (int, error) {
		if p.Get("n") == "1" {
			return 0, errors.New("no luck")
		}
		cancel()
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}, nil)
	if !errors.Is(err, context.Canceled) || errors.As(err, new(*PointError)) {
		t.Errorf("interrupted before the first failure: got %v, want %v", err, context.Canceled)
	}
}

// TestMemory checks that points run at the same time only if together they fit into memory,
// and that a point that has ended frees its memory for others.
func TestMemory(t *testing.T) {
	for _, tt := range []struct {
		bytes int64
		want  int // points that run at the same time
	}{{maxMemory + 1, 1}, {maxMemory/2 + 1, 1}, {maxMemory / 64, 3}} {
		synctest.Test(t, func(t *testing.T) {
			begun, now, most := time.Now(), 0, 0
			o := Options{Workers: 3, Memory: func(int) int64 { return tt.bytes }}
			lock := make(chan struct{}, 1)
			_, err := Run(t.Context(), o, linePoints(90), func(ctx context.Context, _ int, p Point) (row, error) {
				lock <- struct{}{}
				now++
				most = max(most, now)
				<-lock
				time.Sleep(time.Second)
				lock <- struct{}{}
				now--
				<-lock
				return nameRow(ctx, 0, p)
			}, nil)
			if took := time.Since(begun); err != nil || most != tt.want || took != time.Duration(90/tt.want)*time.Second {
				t.Errorf("%d bytes each: got %d at a time, %v, %v, want %d", tt.bytes, most, took, err, tt.want)
			}
		})
	}
}

// TestLeft checks that the estimated time left is exact after the first point has ended.
// The points either take times in proportion to their costs, or have no costs and take
// equal times.
func TestLeft(t *testing.T) {
	double := func(i int) float64 { return float64(int(1) << i) }
	for _, tt := range []struct {
		workers int
		cost    func(int) float64
		total   time.Duration
	}{
		{1, double, 1<<20*time.Second - time.Second},
		{3, double, (1<<1 + 1<<4 + 1<<7 + 1<<10 + 1<<13 + 1<<16 + 1<<19) * time.Second}, // points 1, 4, ... 19
		{1, nil, 20 * time.Second},
		{3, nil, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun, known := time.Now(), 0
			o := Options{Workers: tt.workers, Cost: tt.cost, Progress: func(done, total int, left time.Duration) {
				want := tt.total - time.Since(begun)
				switch {
				case done == 0:
					want = -1
				case left >= 0:
					known++
				}
				if left != want {
					t.Errorf("%d workers, %d of %d points done: %v left, want %v", tt.workers, done, total, left, want)
				}
			}}
			if _, err := Run(t.Context(), o, linePoints(20), func(_ context.Context, _ int, p Point) (int, error) {
				seconds := 1.0
				if i, _ := strconv.Atoi(p.Get("n")); tt.cost != nil {
					seconds = tt.cost(i)
				}
				time.Sleep(time.Duration(seconds) * time.Second)
				return 0, nil
			}, nil); err != nil || known != 20 {
				t.Errorf("%v; known %d times, want 20", err, known)
			}
		})
	}
}
