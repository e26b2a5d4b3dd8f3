# The gateway, for production: PostgreSQL is given by DATABASE_URL, nothing is made up.
#   docker build -t workspace-account-gateway .
#   docker run --env-file .env workspace-account-gateway node src/commands/migrate.ts
#   docker run --env-file .env --publish 4000:4000 workspace-account-gateway
FROM node:24.21.0-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Optional are the embedded PostgreSQL and a Node.js of its own; the image has the one, and needs no other.
RUN npm ci --omit=dev --omit=optional --workspaces=false --ignore-scripts

FROM node:24.21.0-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000
WORKDIR /app
# What changes seldom comes first: a new version of the gateway is a few hundred kilobytes.
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY examples examples
COPY rest rest
COPY src src
# The files stay root's: the gateway reads them and writes nothing.
USER node
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node.js itself, not npm, so that signals reach the gateway. It has 10 seconds to finish what runs.
CMD ["node", "--expose-gc", "--max-semi-space-size=32", "--no-parallel-scavenge", "src/main.ts"]
