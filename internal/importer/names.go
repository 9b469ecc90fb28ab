package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// maxName is the most characters that the name of an MCPServer may have.
const maxName = 40

// original is the name of a server where it is declared.
type original struct {
	// name is its name, and place where it is declared; the same name may occur in several places.
	name, place string
	// owned says that the name begins with an owner and a slash, as in the MCP registry.
	owned bool
}

// assignNames gives each a valid name for its MCPServer, all different. It depends on the names that are given
// together, never on their order, so a file that grows does not rename what it had. Of several that would get the same
// name, the one that needs no change keeps it (of several such, the one without a place) and the others get a hash of
// their name and place.
func assignNames(originals []original) []string {
	plain := mapNames(originals)
	count, fit := map[string]int{}, map[string]int{}
	for i, o := range originals {
		count[plain[i]]++
		fit[plain[i]] = max(fit[plain[i]], o.fits(plain[i]))
	}
	best := map[string]int{} // how many have the best claim on a name
	for i, o := range originals {
		if o.fits(plain[i]) == fit[plain[i]] {
			best[plain[i]]++
		}
	}
	names, taken := make([]string, len(originals)), map[string]bool{}
	var hashes []int
	for i, o := range originals {
		keeps := fit[plain[i]] > 0 && o.fits(plain[i]) == fit[plain[i]] && best[plain[i]] == 1
		if count[plain[i]] > 1 && !keeps {
			hashes = append(hashes, i)
			continue
		}
		names[i], taken[plain[i]] = plain[i], true
	}
	slices.SortStableFunc(hashes, func(a, b int) int {
		return cmp.Compare(originals[a].identity(), originals[b].identity())
	})
	for _, i := range hashes {
		identity := originals[i].identity()
		name := hashed(plain[i], identity)
		for taken[name] {
			identity += "\x00"
			name = hashed(plain[i], identity)
		}
		names[i], taken[name] = name, true
	}
	return names
}

func (o original) identity() string { return o.place + "\x00" + o.name }

// mapNames maps each on its own. Owners are left out where the rest tells the servers apart.
func mapNames(originals []original) []string {
	out, count := make([]string, len(originals)), map[string]int{}
	for i, o := range originals {
		out[i] = mapName(o.name, o.owned)
		count[out[i]]++
	}
	for i, o := range originals {
		if o.owned && count[out[i]] > 1 {
			out[i] = mapName(o.name, false)
		}
	}
	return out
}

// fits tells how good a claim on a name this is: 2 is called so, in no place of its own; 1 is called so; 0 is not.
func (o original) fits(name string) int {
	switch {
	case o.name != name:
		return 0
	case o.place != "":
		return 1
	default:
		return 2
	}
}

// mapName makes a valid name of any text. An owner before a slash is left out.
func mapName(original string, owned bool) string {
	name := original
	if _, after, found := strings.Cut(name, "/"); owned && found {
		name = after
	}
	var out strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			out.WriteRune(r)
		} else if !strings.HasSuffix(out.String(), "-") {
			out.WriteByte('-')
		}
	}
	name = strings.Trim(out.String(), "-")
	switch {
	case name == "":
		return hashed("server", original)
	case len(name) > maxName:
		return hashed(name, original)
	default:
		return name
	}
}

// hashed shortens a name and ends it with 8 hex characters of a hash.
func hashed(name, of string) string {
	sum := sha256.Sum256([]byte(of))
	const digits = 8
	name = strings.TrimRight(name[:min(len(name), maxName-digits-1)], "-")
	return name + "-" + hex.EncodeToString(sum[:digits/2])
}
