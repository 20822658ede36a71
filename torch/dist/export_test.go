package dist

import "github.com/kernbench/kernbench/torch"

// Last returns the statistics of the last launch of a collective or a message.
func Last(c *torch.Context) Stats { return hostOf(c).last }
