import fastify from 'fastify';
import { authenticateAll } from './fastify-caller.ts';
import { pool } from './pool.ts';
import { toWorkspace, WORKSPACE_COLUMNS, type WorkspaceRow } from './records.ts';

/* Fastify, set up as in its documentation: it compiles a serializer from the reply's JSON schema. No log by default. */

const text = { type: 'string' };
const integer = { type: 'integer' };
const time = { type: 'string', format: 'date-time' };

const workspace = {
  type: 'object',
  properties: {
    id: text,
    project_id: text,
    status: text,
    hardware: {
      type: 'object',
      properties: {
        cpu_kind: text,
        cpus: integer,
        memory_mb: integer,
        volume_size_gb: integer,
        gpu_kind: { type: ['string', 'null'] },
      },
    },
    keep_active: { type: 'boolean' },
    machine_id: text,
    private_ip: text,
    git_ref: text,
    preview_token: text,
    error_message: { type: ['string', 'null'] },
    created_at: time,
    updated_at: time,
  },
};

const app = fastify();
authenticateAll(app);

app.get(
  '/user/workspaces',
  {
    schema: {
      response: {
        200: { type: 'object', properties: { workspaces: { type: 'array', items: workspace } } },
      },
    },
  },
  async (request) => {
    const { rows } = await pool.query<WorkspaceRow>({
      name: 'workspaces',
      text: `select ${WORKSPACE_COLUMNS} from workspace where user_id = $1 order by created_at desc, id desc`,
      values: [request.caller?.userId],
    });
    return { workspaces: rows.map(toWorkspace) };
  },
);

process.stdout.write(`Listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}\n`);
