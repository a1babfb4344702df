package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"wiretime/english"
	"wiretime/manual"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a folder",
		Long: `Man writes a manual page for the program and one for each of its verbs, such as
wiretime-run.1, into a folder. 'man -M' takes the folder above one that is named
man1; 'man -l' shows a single page:

    wiretime man ~/.local/share/man/man1    # where man looks by itself
    man wiretime-run`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			names, err := manual.Write(c.Root(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(stdout, "%s written to %s.\n", english.Count(len(names), "page"), args[0])
			return err
		},
	}
}
