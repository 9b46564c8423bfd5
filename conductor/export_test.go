package conductor

import "golang.org/x/crypto/bcrypt"

func init() {
	hash = func(password []byte) ([]byte, error) {
		if len(password) > 72 {
			return nil, bcrypt.ErrPasswordTooLong
		}
		return []byte("a hash"), nil
	}
}
