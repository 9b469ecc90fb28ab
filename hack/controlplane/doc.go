// Command controlplane puts etcd, kube-apiserver and kubectl into a folder, for tests, the demo and `mooring dev`.
//
// It takes the first of these that serves:
//
//  1. the folder named by KUBEBUILDER_ASSETS, used where it is (kubectl may be absent there);
//  2. what is in the folder already, when its stamp, or the programs themselves, name the pinned versions;
//  3. what setup-envtest downloads, when its index answers quickly;
//  4. a build from the modules that this folder's go.mod pins.
//
// The module is separate from Mooring's own, so that Kubernetes' dependencies never reach Mooring's. The programs are
// built with CGO_ENABLED=0 and default paths, so that Mooring and its tools find their shared packages in the Go build
// cache afterwards. The trade-off is time: a cold build takes minutes, hence the progress lines; other programs that
// show such lines, such as gobuild, are in this module, too.
package main
