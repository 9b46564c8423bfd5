module github.com/ironstate/ironstate/graph/render

go 1.26.0

require (
	github.com/fogleman/gg v1.3.0
	github.com/goccy/go-graphviz v0.2.9
	github.com/ironstate/ironstate v0.0.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/image v0.47.0
)

require (
	github.com/disintegration/imaging v1.6.2 // indirect
	github.com/emicklei/dot v1.11.0 // indirect
	github.com/flopp/go-findfont v0.1.0 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/tetratelabs/wazero v1.12.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/ironstate/ironstate => ../..
