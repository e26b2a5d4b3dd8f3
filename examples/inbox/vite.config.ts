import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { developmentTokens } from '../../dev/development-tokens.ts';

export default defineConfig({ plugins: [react(), developmentTokens()] });
