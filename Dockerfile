# The gateway for production. .env.example lists the required settings; uncomment its DATABASE_URL first.
#   docker build -t workspace-account-gateway .
#   docker run --rm --env-file .env workspace-account-gateway node src/commands/migrate.ts
#   docker run --env-file .env --publish 4000:4000 --stop-timeout 20 workspace-account-gateway
# `npm run images:pin` renews the digests.
FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Omits the optional packages: the embedded PostgreSQL, and Node.js, which the base image contains.
RUN npm ci --omit=dev --omit=optional --workspaces=false --ignore-scripts

FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000
WORKDIR /app
# Dependencies are a separate layer, so that a new version of the gateway adds only a few hundred kilobytes.
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY examples/dashboard examples/dashboard
COPY examples/platform examples/platform
COPY examples/web-app examples/web-app
COPY rest rest
COPY src src
# Root owns the files; the gateway only reads them.
USER node
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Starts Node.js instead of npm, so that the gateway receives signals. It needs up to 13 seconds to stop.
CMD ["node", "src/main.ts"]
