package secrets_test

import (
	"testing"

	"github.com/gajae-code/gjc/agent/secrets"
)

func TestAskedIn(t *testing.T) {
	for _, text := range []string{
		"Please type your database password",
		"What is your AWS secret access key?",
		"What is the AWS_SECRET_ACCESS_KEY?",
		"Enter your API key",
		"Your passphrase",
		"Password",
		"password:",
		"Paste the GitHub token here",
		"What's the root user's password?",
		"What’s your PIN?",
		"Could you give me the access token for the registry?",
		"May I have your password?",
		"I need your SSH key passphrase to continue",
		"I need to know the password.",
		"Please provide the credentials for staging",
		"What password should I use for the admin account?",
		"What should the admin password be?",
		"Enter the 6-digit verification code",
		"Enter the one-time code that we sent to your phone",
		"Your credit card number?",
		"OpenAI API key (starts with sk-)",
		"To connect to the server I need a token. Paste it below.",
		"The registry uses a token. Please enter it here",
		"Tell me the private key",
		"Database password for the app user",
		"Type the value of STRIPE_SECRET_KEY",
		"What is the value of the API token?",
		"What is the PIN of your card?",
		"Please share your seed phrase",
		"Enter username and password",
		"Login details for the VPN",
		"New password",
		"Confirm your new password",
		"db: Please type your database password",
		"Fill in your AWS credentials",
		"GitHub personal access token with repo scope",
		"Use the box to type your password",
		"The server needs your password",
		"Password required for deploy@host",
	} {
		if !secrets.AskedIn(text) {
			t.Errorf("%q does not ask for a secret", text)
		}
	}
	for _, text := range []string{
		"",
		"What is your name?",
		"What is the token limit?",
		"How many max tokens should one request have?",
		"Which password policy do you want?",
		"Who is your secret Santa?",
		"What is the secret ingredient?",
		"Should passwords be hashed with bcrypt?",
		"What is the maximum number of tokens?",
		"Where is the API key stored?",
		"What is the name of the secret in Vault?",
		"What is the path to the private key?",
		"How long should the password be?",
		"Do you want password authentication?",
		"Should I rotate the access key?",
		"Name of the environment variable that holds the API key",
		"What should happen when the token is expired?",
		"Which header should the token be sent in?",
		"How should we handle a wrong password?",
		"What is the best way to store credentials?",
		"The token count was too high. Which model should I use?",
		"Enter the max tokens for one answer",
		"Enter the password length",
		"What is the purpose of this token?",
		"Enter a title for the password reset page",
		"Never type your password here. Which branch?",
		"Do not enter a password here. What is the host?",
		"Do you have an API key?",
		"Pin the version to 1.2?",
		"Enter the secret name",
		"What port does the token service use?",
		"Tell me where the password is stored",
		"I will read the API key from the environment. Which region?",
		"What is the difference between access tokens and sessions?",
		"The password is wrong. Give me another host name.",
		"The token expired. Should I send it again?",
		"Fix the token parser. Write it in Go?",
		"What error do you see when you enter the password?",
		"Describe what happens after you type your password",
		"Send the token in a cookie or in a header?",
		"Token or cookie?",
		"Use a password or a key file?",
		"Rotate the token?",
		"Can the password be empty?",
		"Which users need a password?",
		"Commit message",
	} {
		if secrets.AskedIn(text) {
			t.Errorf("%q asks for a secret", text)
		}
	}
}

func TestNamedIn(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "dbPassword": true, "api_key": true, "apiKey": true, "APIKey": true, "AWSSecretKey": true, "github_token": true,
		"token": true, "client-secret": true, "secret_2": true, "credentials": true, "otp": true, "pin": true, "ssh.privateKey": true,
		"max_tokens": false, "maxToken": false, "tokenLimit": false, "password_policy": false, "secretName": false, "pinVersion": false,
		"key": false, "name": false, "value": false, "tokenizer": false, "private_key_path": false, "": false,
	} {
		if got := secrets.NamedIn(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func FuzzAskedIn(f *testing.F) {
	f.Add("What's your password?")
	f.Add("the path to the 's key. Type it")
	f.Fuzz(func(_ *testing.T, text string) {
		secrets.AskedIn(text)
		secrets.NamedIn(text)
	})
}
