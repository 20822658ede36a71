package cli

import (
	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/task"
)

func tasksCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "Show and check what scheduling tasks costs",
		Long: `What scheduling the tasks of a program costs, and how many there is room for, is in
tasks.yaml: what the runtimes have in common, and the numbers of each. kernbench run and
comm run read it from --tasks FILE, else ./tasks.yaml, else it is the embedded one.`,
		Example: `  kernbench tasks show
  kernbench tasks show --format yaml > tasks.yaml
  kernbench tasks validate tasks.yaml`,
	}
	group(cmd)
	cmd.AddCommand(tasksShowCmd(), tasksValidator.command(), schemaCommand("tasks", "a tasks.yaml", task.Schema))
	return cmd
}

var tasksValidator = validator{
	Kind: setup.Tasks, files: "files of what scheduling tasks costs", usual: "the embedded one", presets: []string{"default"}, list: "configs",
}

func tasksShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print what scheduling tasks costs",
		Long: `Show prints the numbers of tasks.yaml: those that the runtimes have in common, and a line
for each runtime; a dash is what it does not have. The first line says which configuration
was used. --format yaml prints a complete file, which loads back.

--format json has version, tasks (source and hash), control and runtimes, each with its
name, with the keys of the file; times are in ns, and their names end in _ns.`,
		Example: `  kernbench tasks show
  kernbench tasks show --set tasks.control.register_read=50ns --format yaml > tasks.yaml`,
	}
	return showCommand(setup.Tasks, cmd, func(c *setup.Loaded) (result, error) { return describe.DescribeTasks(c.Tasks.(*task.Config)), nil })
}
