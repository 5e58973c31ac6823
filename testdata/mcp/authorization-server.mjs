// An authorization server for the tests: oidc-provider, with dynamic registration, refresh token rotation, revocation and introspection.
// Its sign-in pages are those that oidc-provider has for development. Usage: node authorization-server.mjs PORT
import Provider from 'oidc-provider';

const port = Number(process.argv[2]);
const scopes = ['mcp:read', 'mcp:write'];

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: 'resource-server', client_secret: 'resource-secret', grant_types: [], response_types: [], redirect_uris: [],
  }, {
    client_id: 'known', client_secret: 'known-secret', grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
    redirect_uris: ['http://127.0.0.1/callback'], application_type: 'native', token_endpoint_auth_method: 'client_secret_post',
  }],
  scopes: ['openid', 'offline_access', ...scopes],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async (ctx, client) => client.grantTypeAllowed('refresh_token'),
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => false,
      getResourceServerInfo: (ctx, resource) => ({
        scope: scopes.join(' '), audience: resource, accessTokenFormat: 'opaque', accessTokenTTL: 3600,
      }),
    },
  },
});

provider.listen(port, '127.0.0.1', () => console.log(`listening on port ${port}`));
