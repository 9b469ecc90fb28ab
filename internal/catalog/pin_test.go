package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/catalog"
)

func TestDrift(t *testing.T) {
	tool := func(name, rest string) string {
		return `{"inputSchema":{"type":"object"},"name":"` + name + `"` + rest + `}`
	}
	baseline := catalog.NewBaseline(catalog.Parse(list(tool("same", ""), tool("changed", ""),
		tool("gone", ""), tool("dressed", ""))))
	current := catalog.Parse(list(tool("same", ""), tool("changed", `,"title":"new"`),
		tool("added", ""), tool("dressed", `,"z":{}`)))
	equal(t, "drift", baseline.Drift(current), []catalog.DriftedTool{
		{Name: "added", Kind: catalog.Added, Current: json.RawMessage(tool("added", ""))},
		{Name: "changed", Kind: catalog.Changed, Approved: json.RawMessage(tool("changed", "")),
			Current: json.RawMessage(tool("changed", `,"title":"new"`))},
	})
	equal(t, "held", names(baseline.Hold(current)), []string{"dressed", "same"})
	equal(t, "held definition", definition(t, baseline.Hold(current), "dressed"), tool("dressed", `,"z":{}`))
	equal(t, "approved", len(baseline.Tools()), 4)

	approved := catalog.NewBaseline(current)
	equal(t, "digest", approved.Digest(), current.Digest)
	equal(t, "drift after approval", approved.Drift(current), nil)
	equal(t, "held after approval", approved.Hold(current), current)
}

func TestNothingApprovedHoldsEverything(t *testing.T) {
	current := catalog.Parse(list(`{"name":"a"}`))
	equal(t, "held", len(catalog.Baseline{}.Hold(current).Tools), 0)
	equal(t, "drift", catalog.Baseline{}.Drift(current)[0].Kind, catalog.Added)
}

func TestBaselineDocument(t *testing.T) {
	c := catalog.Parse(list(`{"name":"a","inputSchema":{"type":"object"}}`))
	baseline := catalog.NewBaseline(c)
	d := document(catalog.Parse(nil))
	d.Approved = &baseline
	stored := encode(t, d).Data
	equal(t, "approved.json", stored["approved.json"], `{"digest":"`+string(c.Digest)+`","schemaVersion":1,"tools":[`+
		`{"definition":{"inputSchema":{"type":"object"},"name":"a"},"digest":"`+string(c.Tools[0].Digest)+`","name":"a"}]}`)
	got, err := catalog.DecodeBaseline(stored, nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "decoded", got, baseline)
	for what, c := range map[string]struct {
		stored map[string]string
		want   error
	}{
		"missing":  {map[string]string{"catalog.json": "{}"}, catalog.ErrNoDocument},
		"not JSON": {map[string]string{"approved.json": "["}, catalog.ErrMalformed},
		"changed": {map[string]string{"approved.json": strings.Replace(stored["approved.json"], `"type"`, `"tipe"`, 1)},
			catalog.ErrDigestMismatch},
	} {
		if _, err := catalog.DecodeBaseline(c.stored, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
}

func TestDigestForms(t *testing.T) {
	digest := catalog.Parse(nil).Digest
	equal(t, "revision", digest.Revision(), "4f53cda18c2b")
	equal(t, "revision of nothing", catalog.Digest("").Revision(), "")
}

// What a pin makes of a list: the first row of each policy is a server's first list.
func TestPinJudges(t *testing.T) {
	tool := func(name, rest string) string {
		return `{"inputSchema":{"type":"object"},"name":"` + name + `"` + rest + `}`
	}
	first := catalog.Parse(list(tool("a", ""), tool("b", "")))
	changed := catalog.Parse(list(tool("a", ""), tool("b", `,"title":"new"`), tool("c", "")))
	fewer := catalog.Parse(list(tool("a", "")))
	nothing := catalog.Parse(nil)
	approvedFirst, approvedChanged := catalog.NewBaseline(first), catalog.NewBaseline(changed)
	approvedNothing := catalog.NewBaseline(nothing)
	for name, c := range map[string]struct {
		pin      catalog.Pin
		found    *catalog.Baseline
		current  catalog.Catalog
		offered  []string
		withheld catalog.Withholding
		recorded catalog.Digest
		baseline *catalog.Baseline
	}{
		"first use is trusted": {
			current: first, offered: []string{"a", "b"}, recorded: first.Digest, baseline: &approvedFirst,
		},
		"first use of what was approved before it was listed is trusted": {
			pin: catalog.Pin{Approved: first.Digest}, current: first,
			offered: []string{"a", "b"}, recorded: first.Digest, baseline: &approvedFirst,
		},
		"first use of another list than the approved one is not trusted": {
			pin: catalog.Pin{Approved: first.Digest}, current: changed, withheld: catalog.AwaitingApproval,
		},
		"nor is a part of the approved list, of which the definitions are not known": {
			pin: catalog.Pin{Approved: first.Digest}, current: fewer, withheld: catalog.AwaitingApproval,
		},
		"nor is a first list that has tools where none were approved": {
			pin: catalog.Pin{Approved: nothing.Digest}, current: first, withheld: catalog.AwaitingApproval,
		},
		"a first list without tools where others were approved": {
			pin: catalog.Pin{Approved: first.Digest}, current: nothing, withheld: catalog.AwaitingApproval,
		},
		"that there are no tools may be approved before the first list": {
			pin: catalog.Pin{Approved: nothing.Digest}, current: nothing,
			recorded: nothing.Digest, baseline: &approvedNothing,
		},
		"a baseline that nobody recorded is not the approved one": {
			pin: catalog.Pin{Approved: first.Digest}, found: &approvedChanged, current: changed,
			withheld: catalog.AwaitingApproval,
		},
		"a baseline that was stored and not yet recorded is the approved one": {
			pin: catalog.Pin{Approved: first.Digest}, found: &approvedFirst, current: changed,
			offered: []string{"a"}, withheld: catalog.ToolsChanged, recorded: first.Digest, baseline: &approvedFirst,
		},
		"a first use that was stored and not yet recorded": {
			found: &approvedFirst, current: changed,
			offered: []string{"a"}, withheld: catalog.ToolsChanged, recorded: first.Digest, baseline: &approvedFirst,
		},
		"a first list without tools is nothing to trust": {current: nothing},
		"what comes after a first list without tools is the first use": {
			found: &approvedNothing, pin: catalog.Pin{Recorded: nothing.Digest}, current: first,
			offered: []string{"a", "b"}, recorded: first.Digest, baseline: &approvedFirst,
		},
		"a first list without tools whose record is gone": {
			pin: catalog.Pin{Recorded: nothing.Digest}, current: first,
			offered: []string{"a", "b"}, recorded: first.Digest, baseline: &approvedFirst,
		},
		"a baseline that somebody put in the place of none": {
			pin: catalog.Pin{Recorded: nothing.Digest}, found: &approvedChanged, current: first,
			withheld: catalog.BaselineLost, recorded: nothing.Digest, baseline: &approvedChanged,
		},
		"that there are no tools may be approved, too": {
			pin:   catalog.Pin{Recorded: nothing.Digest, Approved: nothing.Digest},
			found: &approvedNothing, current: first,
			withheld: catalog.ToolsChanged, recorded: nothing.Digest, baseline: &approvedNothing,
		},
		"that all tools vanish is no drift, and no new beginning": {
			pin: catalog.Pin{Recorded: first.Digest}, found: &approvedFirst, current: nothing,
			recorded: first.Digest, baseline: &approvedFirst,
		},
		"the same list again": {
			pin: catalog.Pin{Recorded: first.Digest}, found: &approvedFirst, current: first,
			offered: []string{"a", "b"}, recorded: first.Digest, baseline: &approvedFirst,
		},
		"what changed or came is withheld": {
			pin: catalog.Pin{Recorded: first.Digest}, found: &approvedFirst, current: changed,
			offered: []string{"a"}, withheld: catalog.ToolsChanged, recorded: first.Digest, baseline: &approvedFirst,
		},
		"what vanished is no drift": {
			pin: catalog.Pin{Recorded: first.Digest}, found: &approvedFirst, current: fewer,
			offered: []string{"a"}, recorded: first.Digest, baseline: &approvedFirst,
		},
		"an approval of what is offered now": {
			pin: catalog.Pin{Recorded: first.Digest, Approved: changed.Digest}, found: &approvedFirst, current: changed,
			offered: []string{"a", "b", "c"}, recorded: changed.Digest, baseline: &approvedChanged,
		},
		"an approval that is outdated approves nothing": {
			pin: catalog.Pin{Recorded: first.Digest, Approved: fewer.Digest}, found: &approvedFirst, current: changed,
			offered: []string{"a"}, withheld: catalog.ToolsChanged, recorded: first.Digest, baseline: &approvedFirst,
		},
		"a baseline that is missing": {
			pin: catalog.Pin{Recorded: first.Digest}, current: first, withheld: catalog.BaselineLost, recorded: first.Digest,
		},
		"a baseline that somebody replaced": {
			pin: catalog.Pin{Recorded: first.Digest}, found: &approvedChanged, current: changed,
			withheld: catalog.BaselineLost, recorded: first.Digest, baseline: &approvedChanged,
		},
		"a lost baseline is replaced by an approval": {
			pin: catalog.Pin{Recorded: first.Digest, Approved: changed.Digest}, current: changed,
			offered: []string{"a", "b", "c"}, recorded: changed.Digest, baseline: &approvedChanged,
		},
		"an approval that was stored and not yet recorded": {
			pin: catalog.Pin{Recorded: first.Digest, Approved: changed.Digest}, found: &approvedChanged, current: fewer,
			offered: []string{"a"}, recorded: changed.Digest, baseline: &approvedChanged,
		},
		"strict: nothing before the first approval": {
			pin: catalog.Pin{Strict: true}, current: first, withheld: catalog.AwaitingApproval,
		},
		"strict: a baseline that nobody recorded approves nothing": {
			pin: catalog.Pin{Strict: true}, found: &approvedFirst, current: first, withheld: catalog.AwaitingApproval,
		},
		"strict: an approval of another list": {
			pin: catalog.Pin{Strict: true, Approved: fewer.Digest}, current: first, withheld: catalog.AwaitingApproval,
		},
		"strict: a first list without tools awaits approval as any other": {
			pin: catalog.Pin{Strict: true}, current: nothing, withheld: catalog.AwaitingApproval,
		},
		"strict: what comes after an approved list without tools": {
			pin:   catalog.Pin{Strict: true, Recorded: nothing.Digest},
			found: &approvedNothing, current: first,
			withheld: catalog.ToolsChanged, recorded: nothing.Digest, baseline: &approvedNothing,
		},
		"strict: approved": {
			pin: catalog.Pin{Strict: true, Approved: first.Digest}, current: first,
			offered: []string{"a", "b"}, recorded: first.Digest, baseline: &approvedFirst,
		},
		"strict: changed after the approval": {
			pin:   catalog.Pin{Strict: true, Approved: first.Digest, Recorded: first.Digest},
			found: &approvedFirst, current: changed,
			offered: []string{"a"}, withheld: catalog.ToolsChanged, recorded: first.Digest, baseline: &approvedFirst,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.pin.Judge(c.found, c.current)
			equal(t, "offered", strings.Join(names(got.Offered), " "), strings.Join(c.offered, " "))
			equal(t, "withheld", got.Withheld, c.withheld)
			equal(t, "recorded", got.Recorded, c.recorded)
			equal(t, "baseline", got.Baseline, c.baseline)
		})
	}
}
