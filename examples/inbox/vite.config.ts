import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { developmentTokens } from '../../dev/development-tokens.ts';
import { readInboxSettings } from '../../dev/inbox-settings.ts';

export default defineConfig(async ({ command }) => {
  if (command === 'build') return { plugins: [react()] };
  const settings = await readInboxSettings();
  return {
    plugins: [react(), developmentTokens(settings)],
    server: { proxy: { '/graphql': settings.GATEWAY_URL } },
  };
});
