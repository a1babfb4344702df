package main

import (
	"github.com/spf13/cobra"

	"wiretime/store"
)

func exportCommand() *cobra.Command {
	var dir string
	var run int64
	c := &cobra.Command{
		Use: "export csv|json", Short: "Write a run's raw values to standard output, one row per load and metric",
		Args: arguments(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)), ValidArgs: []string{"csv", "json"},
		RunE: func(_ *cobra.Command, args []string) error {
			return withRun(dir, run, func(st *store.Store, id int64) error {
				if args[0] == "csv" {
					return st.ExportCSV(forPrograms, id)
				}
				return st.ExportJSON(forPrograms, id)
			})
		},
	}
	storeFlags(c, &dir, &run)
	return c
}
