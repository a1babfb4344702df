package main

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/store"
	"wiretime/summary"
	"wiretime/terminal"
)

// exports are the formats in which a run can be exported.
var exports = map[string]func(*store.Store, io.Writer, int64) error{
	"csv":     (*store.Store).ExportCSV,
	"json":    (*store.Store).ExportJSON,
	"parquet": (*store.Store).ExportParquet,
	"summary": func(st *store.Store, w io.Writer, run int64) error { return summary.Write(st, run, w) },
}

func exportCommand() *cobra.Command {
	var dir, output string
	var run int64
	formats := slices.Sorted(maps.Keys(exports))
	c := &cobra.Command{
		Use: "export " + strings.Join(formats, "|"), Short: "Write a run's raw values, one row per load and metric, or a summary of it as JSON",
		Args: arguments(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)), ValidArgs: formats,
		RunE: func(_ *cobra.Command, args []string) error {
			return withRun(dir, run, func(st *store.Store, id int64) error { return exportTo(output, st, id, args[0]) })
		},
	}
	storeFlags(c, &dir, &run)
	c.Flags().StringVarP(&output, "output", "o", "", "file to write, whole or not at all (default: standard output)")
	return c
}

// exportTo writes a run in a format to a file, or to standard output if the file's name is empty.
func exportTo(name string, st *store.Store, run int64, format string) error {
	if name == "" {
		if format == "parquet" && terminal.Is(os.Stdout) {
			return input(errors.New("write Parquet to a terminal: it is not text; name a file with --output"))
		}
		return exports[format](st, forPrograms, run)
	}
	out, err := newOutput(name)
	if err != nil {
		return err
	}
	defer out.discard()
	if err := exports[format](st, out, run); err != nil {
		return err
	}
	return out.keep()
}
