package selection

import (
	"cmp"
	"slices"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
)

// Remainder says what may stand of what a session was given, servers by name and UID (or "" for any of that name),
// while Resolve finds this fault: its Choices are those that every declaration which can be read still allows, its
// Filters are those that can be read. Nothing is added, since what cannot be read may forbid it.
func Remainder(world *World, session *v1alpha1.AgentSession, fault *Fault, given map[catalog.Ref]string) Result {
	lineage, _ := lineageOf(world, session)
	result := Result{Fault: fault}
	for ref, uid := range given {
		reference := v1alpha1.ServerReference{Namespace: ref.Namespace, Name: ref.Name}
		choice := refer(world, session.Namespace, reference)
		if choice.Server != nil && (uid == "" || string(choice.Server.UID) == uid) {
			result.Choices = append(result.Choices, choice)
		}
	}
	slices.SortFunc(result.Choices, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, member := range lineage {
		result.narrow(world, member)
	}
	return result
}

// narrow leaves what one session of a lineage allows, looked at alone. One that chooses nothing itself goes by its
// parent.
func (r *Result) narrow(world *World, member *v1alpha1.AgentSession) {
	_ = r.readFilters(member, r) // globs that cannot be read are the fault, and limit nothing
	chosen, fault := choose(world, member, nil)
	limits := fault == nil && (member.Spec.Servers != nil || member.Spec.ParentRef == nil)
	r.Choices = slices.DeleteFunc(r.Choices, func(choice Choice) bool {
		if limits && chosen[choice.Ref].Server == nil || excludes(member, choice.Ref) {
			return true
		}
		var apart Result // whose native keys these would be is not known
		apart.leaveOut(&choice, member)
		return !member.Spec.Enabled() || choice.State != ""
	})
}

// excludes tells whether a session leaves a server out by name, which can be read also where its selector cannot.
func excludes(member *v1alpha1.AgentSession, ref catalog.Ref) bool {
	return member.Spec.Servers != nil && ref.Namespace == member.Namespace &&
		slices.Contains(member.Spec.Servers.Exclude, v1alpha1.ServerExclusion{Name: ref.Name})
}
