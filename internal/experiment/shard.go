package experiment

import (
	"fmt"
	"regexp"
	"strconv"
)

// Shard is a part of the points, for one of N machines: those whose index, modulo N, is
// I-1. The zero value is all points.
type Shard struct{ I, N int }

var shardPattern = regexp.MustCompile(`^([1-9][0-9]{0,5})/([1-9][0-9]{0,5})$`)

// ParseShard reads "2/4". The empty text is all points.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	m := shardPattern.FindStringSubmatch(text)
	if m == nil {
		return Shard{}, fmt.Errorf("%q is no shard: write i/n, such as 2/4 for the second of four", text)
	}
	i, _ := strconv.Atoi(m[1]) // six digits at most
	n, _ := strconv.Atoi(m[2])
	s := Shard{i, n}
	return s, s.check()
}

// String returns "2/4", or "" for all points.
func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.I, s.N)
}

func (s Shard) check() error {
	if s != (Shard{}) && (s.I < 1 || s.I > s.N) {
		return fmt.Errorf("no shard %d of %d: the first is 1/%d and the last %d/%d", s.I, s.N, max(s.N, 1), max(s.N, 1), max(s.N, 1))
	}
	return nil
}

// Indices returns those of the shard among some points.
func (s Shard) Indices(points int) (list []int) {
	for i := range points {
		if s.has(i) {
			list = append(list, i)
		}
	}
	return list
}

func (s Shard) has(index int) bool { return s.N == 0 || index%s.N == s.I-1 }

// name returns what messages call it.
func (s Shard) name() string {
	if s.N == 0 {
		return "the whole sweep"
	}
	return "shard " + s.String()
}
