package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/media/transport"
	"wiretime/network"
	"wiretime/protocol"
	schedules "wiretime/schedule/builtin"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/study/builtin"
	"wiretime/study/papers"
	"wiretime/workload/pageload"
	"wiretime/workload/playback"
)

// shells are those that words can be completed in, with how a session of each reads the script.
var shells = []struct{ name, use string }{
	{"bash", "source <(wiretime completion bash)"},
	{"zsh", "source <(wiretime completion zsh)"},
	{"fish", "wiretime completion fish | source"},
}

func completionCommand() *cobra.Command {
	var long strings.Builder
	long.WriteString(`Completion prints a script by which a shell completes verbs, flags and names: of
studies, sites, networks, protocols, papers and the loads of a store. For the
session that you are in, and in the shell's start-up file for all to come:
`)
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
		fmt.Fprintf(&long, "\n    %-5s %s", s.name, s.use)
	}
	return &cobra.Command{
		Use: "completion " + strings.Join(names, "|"), Short: "Print a script that completes words in a shell", Long: long.String(),
		Args: arguments(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)), ValidArgs: names,
		RunE: func(c *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				if _, err := fmt.Fprint(forPrograms, wordsForBash); err != nil {
					return err
				}
				return c.Root().GenBashCompletionV2(forPrograms, true)
			case "zsh":
				return c.Root().GenZshCompletion(forPrograms)
			}
			return c.Root().GenFishCompletion(forPrograms, true)
		},
	}
}

// wordsForBash stands in for the package bash-completion, which not every machine has, where the script needs it.
const wordsForBash = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref() {
        cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
    }
fi
`

// candidates returns the words that a word may become, and what else the shell may do.
type candidates func(c *cobra.Command, word string) ([]string, cobra.ShellCompDirective)

// completedArguments are the first arguments that can be completed, by verb.
var completedArguments = map[string]candidates{
	"run":        or(builtin.Names, "yaml", "yml"),
	"schedule":   or(schedules.Names, "yaml", "yml"),
	"show":       loadsOfStore,
	"explain":    loadsOfStore,
	"frames":     loadsOfStore,
	"reproduce":  loadsOfStore,
	"networks":   words(profileNames),
	"papers":     words(paperNames),
	"site show":  words(siteNames),
	"site check": words(siteNames),
	"site serve": words(siteNames),
	"site edit":  words(siteNames),
}

// completedFlags are the values of flags that can be completed, by the flags' names.
var completedFlags = map[string]candidates{
	"store":     folders,
	"clock":     words(func() []string { return []string{study.ClockReal, study.ClockVirtual, study.ClockAuto} }),
	"keep":      words(study.Keeps),
	"statistic": words(func() []string { return []string{study.Median, study.Mean, study.Min, study.Max, "p95"} }),
	"protocol":  list(protocol.Names),
	"protocols": list(protocol.Names),
	"profile":   words(profileNames),
	"networks":  list(profileNames),
	"loader":    words(pageload.Loaders),
	"transport": words(transport.Names),
	"player":    words(playback.Players),
	"site":      words(siteNames),
}

// complete has all verbs complete their arguments and flags.
func complete(root *cobra.Command) {
	for _, c := range root.Commands() {
		verb := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
		if of := completedArguments[verb]; of != nil {
			c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 && c.Args(c, append(args, word)) != nil {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return of(c, word)
			}
		}
		for name, of := range completedFlags {
			if c.Flags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, func(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
					return of(c, word)
				}) // it exists
			}
		}
		complete(c)
	}
}

// words completes one of some words.
func words(all func() []string) candidates {
	return func(*cobra.Command, string) ([]string, cobra.ShellCompDirective) {
		return all(), cobra.ShellCompDirectiveNoFileComp
	}
}

// list completes the last one of words separated by commas.
func list(all func() []string) candidates {
	return func(_ *cobra.Command, word string) ([]string, cobra.ShellCompDirective) {
		before := word[:strings.LastIndex(word, ",")+1]
		given := strings.Split(before, ",")
		var some []string
		for _, w := range all() {
			if !slices.Contains(given, w) {
				some = append(some, before+w)
			}
		}
		return some, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// or completes a word, or a file with one of the endings: those of this folder are offered beside the words, others as
// soon as a folder is given.
func or(all func() []string, endings ...string) candidates {
	return func(_ *cobra.Command, word string) ([]string, cobra.ShellCompDirective) {
		if strings.ContainsRune(word, filepath.Separator) {
			return endings, cobra.ShellCompDirectiveFilterFileExt
		}
		some := all()
		for _, ending := range endings {
			files, _ := filepath.Glob("*." + ending)
			some = append(some, files...)
		}
		return some, cobra.ShellCompDirectiveNoFileComp
	}
}

func folders(*cobra.Command, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// loadsOfStore completes a load that has left files in the store of --store.
func loadsOfStore(c *cobra.Command, _ string) ([]string, cobra.ShellCompDirective) {
	dir, err := c.Flags().GetString("store")
	if err != nil {
		dir = defaultStore
	}
	ids, _ := store.LoadsWithFiles(dir) // without a store there is nothing to complete
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func profileNames() (names []string) {
	for _, p := range network.Profiles() {
		names = append(names, p.Name)
	}
	return names
}

func paperNames() (names []string) {
	for _, p := range papers.All() {
		names = append(names, p.Name)
	}
	return names
}

// siteNames lists the sites; none if the library cannot be read.
func siteNames() []string {
	library, err := site.DefaultLibrary()
	if err != nil {
		return nil
	}
	names, _ := library.List()
	return names
}
