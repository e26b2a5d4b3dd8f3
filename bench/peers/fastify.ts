import fastify from 'fastify';
import { authenticateAll } from './fastify-caller.ts';
import { pool } from './pool.ts';
import { WORKSPACE_COLUMNS, type WorkspaceRow, workspaceOf } from './records.ts';

/*
 * Fastify, as its documentation has it: the reply's JSON schema, from which it compiles a serializer that also writes
 * the times; its log is off (its default).
 */

const text = { type: 'string' };
const whole = { type: 'integer' };
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
        cpus: whole,
        memory_mb: whole,
        volume_size_gb: whole,
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
    return { workspaces: rows.map(workspaceOf) };
  },
);

process.stdout.write(`Listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}\n`);
