package benches

import "github.com/kernbench/kernbench/torch"

// attempt calls a function and returns as an error what [torch.Must] and [torch.OK] in it
// stop with: the caller adds where that was.
func attempt[T any](f func() T) (value T, err error) {
	defer func() {
		if stopped := recover(); stopped != nil {
			err = torch.Recovered(stopped)
		}
	}()
	return f(), nil
}
