// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/ironstate/ironstate/conductor/hardware/images"
)

func ExampleServer() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	server, err := images.New(images.Config{Folder: folder, URL: "http://192.0.2.1:6180/images"})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	url, err := server.Publish("1be26c0b-03f2-4d2e-ae87-c02d7f33c123", ".iso", func(f *os.File) error {
		_, err := f.WriteString("an image")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, url, nil))
	fmt.Println(answer.Code, answer.Body)
	// Output: 200 an image
}
