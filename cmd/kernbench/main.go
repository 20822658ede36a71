// Command kernbench simulates a chiplet accelerator: see kernbench --help.
package main

import "github.com/kernbench/kernbench"

func main() { kernbench.Main() }
