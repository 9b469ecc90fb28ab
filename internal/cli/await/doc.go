// Package await watches one object until it is as wanted: how commands wait for an outcome without asking again and
// again. It also tells a person what is being waited for.
package await
