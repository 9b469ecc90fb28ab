package catalog

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// Baseline is the set of tools that a person, or the first list, approved: with each tool's whole definition, so that
// a later change can be shown and not only detected.
type Baseline struct{ approved Catalog }

// NewBaseline approves everything that c offers.
func NewBaseline(c Catalog) Baseline {
	c.Warnings = Warnings{}
	return Baseline{approved: c}
}

// Digest identifies the baseline; it is the digest of the Catalog that was approved.
func (b Baseline) Digest() Digest { return b.approved.Digest }

// Tools returns what was approved, sorted by raw name.
func (b Baseline) Tools() []Tool { return b.approved.Tools }

// DriftKind says how a tool differs from what was approved.
type DriftKind string

// The kinds. A tool that is no longer offered has not drifted.
const (
	Changed DriftKind = "Changed"
	Added   DriftKind = "Added"
)

// DriftedTool is a tool on offer that is not as approved.
type DriftedTool struct {
	Name string
	Kind DriftKind
	// Approved is the definition that was approved, nil for Added; Current is the one on offer.
	Approved, Current json.RawMessage
}

// Drift returns the tools of current that are not as b approved them, sorted by raw name.
func (b Baseline) Drift(current Catalog) []DriftedTool {
	var drifted []DriftedTool
	for _, tool := range current.Tools {
		switch approved, known := b.approved.Find(tool.Name); {
		case !known:
			drifted = append(drifted, DriftedTool{Name: tool.Name, Kind: Added, Current: tool.Definition})
		case approved.Digest != tool.Digest:
			drifted = append(drifted, DriftedTool{
				Name: tool.Name, Kind: Changed, Approved: approved.Definition, Current: tool.Definition,
			})
		}
	}
	return drifted
}

// Hold returns the part of current that is as b approved it; the rest is withheld.
func (b Baseline) Hold(current Catalog) Catalog {
	return current.Select(func(name string) bool {
		approved, known := b.approved.Find(name)
		offered, _ := current.Find(name)
		return known && approved.Digest == offered.Digest
	})
}

// appendJSON writes approved.json with its keys in canonical order.
func (b Baseline) appendJSON(dst []byte) []byte {
	dst = jsontree.AppendText(append(dst, `{"digest":`...), string(b.approved.Digest))
	dst = strconv.AppendInt(append(dst, `,"schemaVersion":`...), SchemaVersion, 10)
	return append(appendTools(append(dst, `,"tools":`...), b.approved.Tools), '}')
}

// DecodeBaseline reads approved.json from the content of a server's ConfigMap and proves its digests. Its errors are
// those of Decode: ErrNoDocument when nothing was approved yet, any other when the baseline is lost.
func DecodeBaseline(data map[string]string, binaryData map[string][]byte) (Baseline, error) {
	root, err := Read(ApprovedKey, data, binaryData)
	if err != nil {
		return Baseline{}, err
	}
	approved, err := readTools(&root)
	if err != nil {
		return Baseline{}, fmt.Errorf("%s: %w", ApprovedKey, err)
	}
	return Baseline{approved: approved}, nil
}

// Pin says what of a server's tools is approved.
type Pin struct {
	// Strict: nothing is approved before somebody did it. Otherwise the first list that has tools is, unless Approved
	// names another one.
	Strict bool
	// Approved names the set that somebody approved, which may be before it was ever listed; empty: nobody did.
	Approved Digest
	// Recorded is the digest of the baseline that was stored last; empty: none was. It is kept apart from the baseline
	// itself, so that who can alter the one does not thereby approve anything.
	Recorded Digest
}

// Withholding says why tools are withheld; empty when none are.
type Withholding string

// The reasons to withhold tools.
const (
	ToolsChanged     Withholding = "ToolsChanged"     // some are not as they were approved
	AwaitingApproval Withholding = "AwaitingApproval" // nothing was approved yet, or something that was never listed
	BaselineLost     Withholding = "BaselineLost"     // what was approved is not known any more, or was altered
)

// Verdict is what a Pin makes of a list.
type Verdict struct {
	// Baseline is what is approved from now on, to be stored with the list; nil when nothing is.
	Baseline *Baseline
	// Recorded is what Pin.Recorded is from now on. A baseline that was lost stays recorded until somebody approves anew.
	Recorded Digest
	// Offered is the part of the list that may be offered.
	Offered Catalog
	// Drifted are the tools that are withheld because they differ from what was approved.
	Drifted  []DriftedTool
	Withheld Withholding
}

// Judge decides what of current may be offered, given the baseline as it was found; nil when there was none.
func (p Pin) Judge(found *Baseline, current Catalog) Verdict {
	if p.trustedNothing(found) || p.unproven(found) {
		found, p.Recorded = nil, ""
	}
	switch {
	case p.Approved == current.Digest:
		approved := NewBaseline(current)
		found = &approved
	case p.lost(found):
		return Verdict{Baseline: found, Recorded: p.Recorded, Offered: none(current), Withheld: BaselineLost}
	case found == nil && p.byHand():
		return Verdict{Offered: none(current), Withheld: AwaitingApproval}
	case found == nil && len(current.Tools) == 0:
		return Verdict{Offered: current} // there is nothing yet to trust: a server may list its tools late
	case found == nil:
		trusted := NewBaseline(current)
		found = &trusted
	}
	verdict := Verdict{
		Baseline: found, Recorded: found.Digest(), Offered: found.Hold(current), Drifted: found.Drift(current),
	}
	if len(verdict.Drifted) > 0 {
		verdict.Withheld = ToolsChanged
	}
	return verdict
}

// trustedNothing tells whether what was recorded is a first list without tools, which nobody approved: it does not make
// drift of the tools that come after it.
func (p Pin) trustedNothing(found *Baseline) bool {
	if p.byHand() || p.Recorded != "" && p.Recorded != New(nil).Digest {
		return false
	}
	return found == nil || len(found.Tools()) == 0
}

// byHand tells whether it takes a person to approve the first tools: who names a set of them trusts no other.
func (p Pin) byHand() bool { return p.Strict || p.Approved != "" }

// unproven tells whether a baseline was found that only a person can have approved, of which neither the record nor the
// declaration knows.
func (p Pin) unproven(found *Baseline) bool {
	return p.byHand() && p.Recorded == "" && found != nil && found.Digest() != p.Approved
}

// lost tells whether the baseline is not the one that was recorded, nor one that was approved since.
func (p Pin) lost(found *Baseline) bool {
	if p.Recorded == "" {
		return false
	}
	return found == nil || found.Digest() != p.Recorded && found.Digest() != p.Approved
}

func none(of Catalog) Catalog { return of.Select(func(string) bool { return false }) }
