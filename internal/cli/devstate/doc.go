// Package devstate keeps the directory of `mooring dev` to one control plane at a time, however the last one ended.
//
// A lock, which ends with the process that holds it, says whether a `mooring dev` runs on the directory. Without one,
// etcd and kube-apiserver that use the directory are left over from one that was killed, and are ended: a process is
// taken for such only if its command line names the directory in the very argument that we give it. So no other
// program is ever ended, and nothing has to be written down that a crash could leave untrue.
//
// On Linux the programs end with `mooring dev` itself, whatever ends that: Tether has the kernel see to it.
package devstate
