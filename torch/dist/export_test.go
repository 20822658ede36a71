package dist

import "github.com/kernbench/kernbench/torch"

// Last returns the statistics of the last launch of a collective or a message that has
// ended.
func Last(c *torch.Context) Stats { return hostOf(c).last }
