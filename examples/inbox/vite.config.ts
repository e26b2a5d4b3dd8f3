import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { developmentTokens } from '../../dev/development-tokens.ts';

export default defineConfig({
  plugins: [react(), developmentTokens()],
  server: { proxy: { '/graphql': process.env.GATEWAY_URL ?? 'http://127.0.0.1:4000' } },
});
