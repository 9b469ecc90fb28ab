package gateway

import (
	"net/http"
	"strings"

	"github.com/mooring-dev/mooring/internal/catalog/render"
)

// serveCatalog gives the document of an AgentSession as it is published, or its tools in a form for models or people.
func (g *Gateway) serveCatalog(w http.ResponseWriter, v *visit) {
	document, tools, digest, ok := v.offer.Document()
	if !ok {
		writeFault(w, http.StatusNotFound, "no catalog is published yet")
		return
	}
	kind := "application/json"
	var err error
	switch format := v.URL.Query().Get("format"); format {
	case "":
	case "openai":
		document, err = render.OpenAI(tools)
	case "anthropic":
		document, err = render.Anthropic(tools)
	case "markdown":
		kind = "text/markdown; charset=utf-8"
		var text string
		text, err = render.Markdown(tools)
		document = []byte(text)
	default:
		writeFault(w, http.StatusBadRequest, "format is openai, anthropic or markdown")
		return
	}
	if err != nil {
		g.options.Log.Error(err, "catalog not rendered", "session", v.offer.Name)
		writeFault(w, http.StatusInternalServerError, "the catalog cannot be put into that form")
		return
	}
	tag := `"` + string(digest) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache")
	if strings.Contains(v.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(document)
}
