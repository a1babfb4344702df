package studyfile

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wiretime/study"
	"wiretime/study/builtin"
)

// compared is the small study with a printed table and claims.
const compared = small + `published:
  - source: Somebody (2012), table 3
    metric: plt
    unit: s
    columns: [{protocol: h2}, {protocol: [h3]}]
    rows:
      - {network: 3g-weak, values: [2.50, null]}
      - {network: cable, values: ["-", 1]}
claims:
  - text: HTTP/3 is faster than each of the others.
    metric: plt
    compare: {protocol: h3}
    to: {protocol: [http/1.1, h2]}
    for: {network: cable}
    ratio: below 1
  - text: DCL is not half of PLT.
    compare: {metric: dcl, protocol: h2}
    to: {metric: plt, protocol: h2}
    ratio: at least 0.5
`

func TestWhatAPaperPrintedPicksCells(t *testing.T) {
	s, err := Parse("s.yaml", []byte(compared), words)
	if err != nil {
		t.Fatal(err)
	}
	want := []study.Published{{Source: "Somebody (2012), table 3", Metric: "plt", Unit: "s", Statistic: study.Median, Figures: []study.Figure{
		{Row: 1, Column: 1, RowLabel: "3g-weak", ColumnLabel: "h2", Cell: study.Selection{"network": {"3g-weak"}, "protocol": {"h2"}}, Printed: "2.50", Value: 2500},
		{Row: 2, Column: 2, RowLabel: "cable", ColumnLabel: "h3", Cell: study.Selection{"network": {"cable"}, "protocol": {"h3"}}, Printed: "1", Value: 1000},
	}}}
	if d := cmp.Diff(want, s.Published); d != "" {
		t.Error(d)
	}
}

func TestARatioSaysForWhichPairsItIsClaimed(t *testing.T) {
	for text, want := range map[string]study.Range{
		"below 1 in all but 1":     {High: 1, Open: true},
		"0.7 to 0.8 on average":    {Low: 0.7, High: 0.8},
		"at least 2 in at least 3": {Low: 2, High: math.Inf(1)},
	} {
		s, err := Parse("s.yaml", []byte(strings.Replace(compared, "below 1", text, 1)), words)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want.Text = text
		if d := cmp.Diff(want, s.Claims[0].Ratio); d != "" {
			t.Error(d)
		}
	}
	_, err := Parse("s.yaml", []byte(strings.Replace(compared, "below 1", "below 1 in all but none", 1)), words)
	if err == nil || !strings.Contains(err.Error(), "comes how many") {
		t.Error(err)
	}
}

func TestClaimsPairCellsThatShareWhatNoSideNames(t *testing.T) {
	s, err := Parse("s.yaml", []byte(compared), words)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, c := range s.Claims {
		var pairs []string
		for _, p := range c.Pairs(s.Cells(nil)) {
			pairs = append(pairs, strings.Join([]string{c.Compare.Metric, p[0].Network.Name, p[0].Over(), c.To.Metric, p[1].Network.Name, p[1].Over()}, " "))
		}
		got = append(got, pairs)
	}
	want := [][]string{
		{"plt cable h3 plt cable http/1.1", "plt cable h3 plt cable h2"},
		{"dcl 3g-weak h2 plt 3g-weak h2", "dcl cable h2 plt cable h2"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRangesOfRatios(t *testing.T) {
	none := math.Inf(1)
	for text, want := range map[string]study.Range{
		"below 1":       {Low: 0, High: 1, Open: true, Text: "below 1"},
		"at most 0.5":   {Low: 0, High: 0.5, Open: false, Text: "at most 0.5"},
		"above 2":       {Low: 2, High: none, Open: true, Text: "above 2"},
		"at least 2":    {Low: 2, High: none, Open: false, Text: "at least 2"},
		"0.95 to 1.05":  {Low: 0.95, High: 1.05, Open: false, Text: "0.95 to 1.05"},
		"1":             {},
		"below":         {},
		"below one":     {},
		"below -1":      {},
		"below NaN":     {},
		"above Inf":     {},
		"2 to 1":        {},
		"1 to":          {},
		"below 1 to 2":  {},
		"at most below": {},
	} {
		got, err := parseRange(text)
		if got != want || (err == nil) != (want.Text != "") {
			t.Errorf("%q is %+v (%v), want %+v", text, got, err, want)
		}
	}
}

func TestExceptLeavesCellsOut(t *testing.T) {
	s := parse(t, replace(t, "chromium]", "chromium]\n  except:\n    - {protocol: [h2, h3], network: cable}\n    - {network: 3g-weak, protocol: http/1.1}"))
	var got []string
	for _, c := range s.Cells(nil) {
		got = append(got, c.Network.Name+" "+c.Over())
	}
	if d := cmp.Diff([]string{"3g-weak h2", "3g-weak h3", "cable http/1.1"}, got); d != "" {
		t.Error(d)
	}
	if n := len(s.Plan(s.Cells(nil))); n != 3*s.Repeats {
		t.Errorf("the plan has %d loads", n)
	}
}

func TestWhatIsWrongWithTablesAndClaimsIsSaid(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		position, says string
	}{
		{"an unknown metric", "metric: plt\n    unit", "metric: pl\n    unit", "10:13", `unknown metric "pl"; did you mean "plt"?`},
		{"a unit of another kind", "unit: s", "unit: kB", "11:11", `unknown unit of plt "kB"; write one of ms, s`},
		{"no source", "source: Somebody (2012), table 3\n    ", "", "9:5", "a published table has no source; write author, year and table"},
		{"a value that the axis lacks", "{protocol: h2},", "{protocol: h1},", "12:26", `the study has no protocol "h1"; did you mean "h2"?`},
		{"an axis by its key in the matrix", "{protocol: h2},", "{protocols: h2},", "12:16", `unknown key "protocols" in a column; did you mean "protocol"?`},
		{"too few values", "[2.50, null]", "[2.50]", "14:36", "the row has 1 values for 2 columns"},
		{"a figure that is none", "[2.50,", "[fast,", "14:37", `invalid figure "fast": want a positive number, or - where the paper has none`},
		{"a figure of zero", "[2.50,", "[0,", "14:37", `invalid figure "0": want a positive number`},
		{"an axis in row and column", "{network: 3g-weak, values", "{network: 3g-weak, protocol: h2, values", "14:51", "row and column both name a protocol; name it in only one of them"},
		{"many cells", "{network: 3g-weak, values", "{values", "14:19", "row and column pick 2 cells, such as"},
		{"a cell that is left out", "published:", "  except: [{protocol: h2, network: 3g-weak}]\npublished:", "15:37", `row and column pick no cell: the study leaves out "3g-weak h2"`},
		{"no text", "text: HTTP/3 is faster than each of the others.\n    ", "", "17:5", "a claim has no text; write the claim as a sentence"},
		{"no metric", "    metric: plt\n    compare", "    compare", "18:14", "compare has no metric; name one here, or one for both sides in the claim"},
		{"metrics of two kinds", "{metric: dcl", "{metric: bytes_down", "23:5", "cannot compare bytes_down in B with plt in ms"},
		{"a claim narrowed by what it compares", "for: {network: cable}", "for: {protocol: h2}", "21:21", "compare or to already names a protocol; narrow it there"},
		{"a claim about nothing", "to: {protocol: [http/1.1, h2]}", "to: {protocol: h3, network: 3g-weak}", "21:20", "compare or to already names a network"},
		{"a misspelt range", "below 1", "under 1", "22:12", `invalid ratio "under 1": want a range such as below 1`},
		{"an empty list", "{protocol: [h3]}", "{protocol: []}", "12:42", "protocol is empty; name at least one, or remove the key"},
		{"an exception of nothing", "published:", "  except: [{protocol: h2}, {protocol: h2, network: cable}]\npublished:", "8:28", "this selection picks no remaining cell; remove it"},
		{"an exception of all", "published:", "  except: [{loader: chromium}]\npublished:", "8:12", "this selection picks all remaining cells; keep some"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(compared, c.old) {
				t.Fatalf("%q is not in the study", c.old)
			}
			_, err := Parse("s.yaml", []byte(strings.Replace(compared, c.old, c.new, 1)), words)
			if err == nil || !strings.Contains(err.Error(), "s.yaml:"+c.position+": "+c.says) {
				t.Errorf("the error is %v\nwant %s: %s", err, c.position, c.says)
			}
		})
	}
}

// TestErrorsOfTablesDoNotHideThoseOfClaims: both are said at once.
func TestErrorsOfTablesDoNotHideThoseOfClaims(t *testing.T) {
	wrong := strings.NewReplacer("unit: s", "unit: kB", "below 1", "under 1").Replace(compared)
	_, err := Parse("s.yaml", []byte(wrong), words)
	for _, position := range []string{"s.yaml:11:11: ", "s.yaml:22:12: "} {
		if err == nil || !strings.Contains(err.Error(), position) {
			t.Errorf("the error is %v\nwant one at %s", err, position)
		}
	}
}

// TestPapersAreAskedWhole looks at the built-in studies that repeat a paper's
// experiment.
func TestPapersAreAskedWhole(t *testing.T) {
	for _, c := range []struct {
		name                  string
		cells, figures, pairs int
	}{
		{"kim-first-visit", 20 * (5 + 3 + 3), 4 * 20, 9 + 1 + 1 + 8 + 7 + 3 + 7 + 20},
		{"kolmogortsev", 14*(5+2+2) + 7*2, 14 * 4, 11 + 13 + 13*3 + 11 + 7 + 5 + 2 + 5 + 2*7 + 13 + 13 + 2*13 + 13 + 13 + 11 + 11 + 14},
		{"kolmogortsev-near", 14*5 + 14*7, 2 * 14 * 4, 2 * (11 + 13 + 13*3 + 11 + 7 + 5 + 2 + 5)},
		{"nam-plt", 18 * 2 * 2 * 2, 0, 2 * (2*2 + 12*2 + 4*2)},
		{"lulic-1", 7 * 6 * 5 * 4, 0, 12 + 12 + 12 + 12 + 84 + 3 + 3 + 4 + 4 + 64},
	} {
		src, err := builtin.File(c.name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(c.name, src, builtinWords)
		if err != nil {
			t.Fatal(err)
		}
		cells := s.Cells(nil)
		figures, pairs := 0, 0
		for _, p := range s.Published {
			figures += len(p.Figures)
		}
		for _, claim := range s.Claims {
			pairs += len(claim.Pairs(cells))
		}
		if len(cells) != c.cells || figures != c.figures || pairs != c.pairs {
			t.Errorf("%s: %d cells, %d figures, %d pairs; want %d, %d, %d", c.name, len(cells), figures, pairs, c.cells, c.figures, c.pairs)
		}
	}
}

// TestKolmogortsevsThreads reads the printed table 1. Six threads take as long from 10 pages on as one page over a new
// connection does, for every six pages: they keep no connection.
func TestKolmogortsevsThreads(t *testing.T) {
	src, err := builtin.File("kolmogortsev")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("kolmogortsev", src, builtinWords)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, f := range s.Published[0].Figures {
		_, number, _ := strings.Cut(f.Cell[study.AxisSite][0], "@")
		pages, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		turns := pages // one page after another
		switch strategy := f.Cell[study.AxisStrategy][0]; {
		case strategy == "threads" && pages >= 10:
			turns = (pages + 5) / 6
		case strategy != "sequential":
			continue
		}
		read++
		if each := f.Value / float64(turns); each < 445 || each > 510 {
			t.Errorf("%v: %.0f ms for each of %d connections one after another, want 445 to 510", f.Cell, each, turns)
		}
	}
	if read != 7+5 {
		t.Errorf("%d figures, want 12", read)
	}
}

// growing is a study of streams with claims of growth.
const growing = `name: growing
repeats: 6
stream: {}
matrix:
  media: [file@1MB]
  transports: [tcp, quic]
  players: [download]
  link_delays: [20ms, 50ms]
  losses: [0%, 1%, 2%]
claims:
  - text: The gap grows with the loss.
    metric: ttd
    compare: {transport: tcp}
    to: {transport: quic}
    grows: {along: loss}
`

func TestAClaimOfGrowth(t *testing.T) {
	for text, want := range map[string]study.Growth{
		growing: {Along: "loss", Of: study.OfRatio},
		strings.Replace(growing, "{along: loss}", "{along: loss, of: difference}", 1): {Along: "loss", Of: study.OfDifference},
	} {
		s, err := Parse("s.yaml", []byte(text), words)
		if err != nil {
			t.Fatal(err)
		}
		if c := s.Claims[0]; c.Grows != want || c.Ratio.Text != "" {
			t.Errorf("the claim is %+v, want %+v", c, want)
		}
	}
}

func TestClaimsOfGrowthThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ old, now, want string }{
		"no number":        {"{along: loss}", "{}", "15:12: grows has no along; name a number of the cells"},
		"unknown number":   {"along: loss", "along: los", `15:20: unknown number "los"; did you mean "loss"?`},
		"not a comparison": {"along: loss", "along: loss, of: sum", `unknown comparison "sum"`},
		"two values":       {"along: loss", "along: link_delay", "15:12: growth needs 3 values of the link delay, and the claim has 2 from"},
		"one value":        {"along: loss", "along: reconnections", "15:12: growth needs 3 values of the number of reconnections, and the claim has 1 from"},
		"no such number":   {"along: loss", "along: congestion", "15:12: the cells have no congestion"},
		"named by a side":  {"{transport: tcp}", "{transport: tcp, loss: 1%}", "15:12: compare or to names a loss"},
		"and a ratio":      {"grows:", "ratio: below 1\n    grows:", "16:12: a claim has either a ratio or grows"},
		"neither":          {"    grows: {along: loss}\n", "", "or what it grows along"},
	} {
		text := strings.Replace(growing, c.old, c.now, 1)
		if text == growing {
			t.Fatalf("%s: nothing was replaced", name)
		}
		if _, err := Parse("s.yaml", []byte(text), words); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
	twice := replace(t, "[3g-weak, cable]", "[{name: slow, rate: 1mbit}, {name: snail, rate: 1mbit}, {name: quick, rate: 2mbit}]") +
		"claims:\n  - {text: x, metric: plt, compare: {protocol: h3}, to: {protocol: h2}, for: {network: [slow, snail, quick]}, grows: {along: rate}}\n"
	if _, err := Parse("s.yaml", []byte(twice), words); err == nil || !strings.Contains(err.Error(), "several pairs of cells have the same rate") {
		t.Errorf("two networks of the same rate: got %v", err)
	}
}

func TestOnly(t *testing.T) {
	s := parse(t, replace(t, "chromium]", "chromium]\n  only:\n    - {protocol: h2}\n    - {network: 3g-weak, protocol: http/1.1}\n  except: [{protocol: h2, network: cable}]"))
	for _, c := range s.Cells(nil) {
		h2, weak := c.On(study.AxisProtocol) == "h2", c.On(study.AxisNetwork) == "3g-weak"
		if !weak || !h2 && c.On(study.AxisProtocol) != "http/1.1" {
			t.Errorf("cell %s is not among those to keep", c.Key())
		}
	}
	if n := len(s.Cells(nil)); n != 2 {
		t.Errorf("%d cells, want 2", n)
	}
	s.Quick.Only = []study.Selection{{study.AxisProtocol: {"h2"}}}
	if s.UseQuick(); len(s.Cells(nil)) != 1 {
		t.Errorf("a quick run measures %d cells, want 1", len(s.Cells(nil)))
	}
}
