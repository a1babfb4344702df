package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/flowcontrol"
	"wiretime/media/record"
	"wiretime/report"
	"wiretime/store"
	"wiretime/workload/pageload"
	"wiretime/workload/playback"
)

func reportCommand() *cobra.Command {
	var dir, output string
	var run int64
	c := &cobra.Command{
		Use: "report", Short: "Write a run's report: one HTML file that works offline", Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return withRun(dir, run, func(st *store.Store, id int64) error {
				if err := writeReport(st, id, output); err != nil {
					return err
				}
				_, err := fmt.Fprintln(stderr, "Report written to", output)
				return err
			})
		},
	}
	storeFlags(c, &dir, &run)
	c.Flags().StringVarP(&output, "output", "o", "report.html", "file to write")
	return c
}

// writeReport writes the report of a run to the file output.
func writeReport(st *store.Store, run int64, output string) error {
	data, err := report.Collect(st, run, leftByLoads())
	if err != nil {
		return err
	}
	return report.Write(output, data)
}

// leftByLoads reads what loads left, for reports and the live page. What a load did not leave is missing there, and nothing else.
func leftByLoads() report.Files {
	return report.Files{
		HAR: readHAR,
		Paths: func(l store.Load, har *capture.HAR) ([]*critical.Path, error) {
			paths, err := criticalPaths(l, har)
			return paths, unlessMissing(err)
		},
		Stream: readStream,
		Connections: func(l store.Load) ([]*flowcontrol.Connection, error) {
			connections, err := readConnections(l)
			return connections, unlessMissing(err)
		},
	}
}

// unlessMissing returns err unless it says that a file is not there.
func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readHAR reads a load's HAR. It returns nil if there is none, as for a load that cannot
// run here.
func readHAR(l store.Load) (*capture.HAR, error) {
	if l.Artefacts == "" {
		return nil, nil
	}
	h, err := capture.ReadHAR(filepath.Join(l.Artefacts, pageload.HARFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return h, err
}

// readStream reads a load's record of its stream. It returns nil if there is none, as for a
// load that cannot run here.
func readStream(l store.Load) (*record.Stream, error) {
	if l.Artefacts == "" {
		return nil, nil
	}
	s, err := record.Read(filepath.Join(l.Artefacts, playback.StreamFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return s, err
}
