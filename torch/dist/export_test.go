package dist

import "github.com/kernbench/kernbench/torch"

// Last returns what the last program of a collective took.
func Last(c *torch.Context) Stats { return hostOf(c).last }
