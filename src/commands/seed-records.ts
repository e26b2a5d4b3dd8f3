/*
 * Realistic records of one user: notifications of every kind and status, workspaces of several projects in every
 * status. They are fixed, so that seeding again adds nothing and the documentation can show replies.
 */

const shop = {
  projectId: 'web-shop',
  projectName: 'Web shop',
  projectRepoUrl: 'https://git.example.com/acme/web-shop.git',
};
const billing = { projectId: 'billing-api', projectName: 'Billing API', projectRepoUrl: null };
const pipeline = {
  projectId: 'data-pipeline',
  projectName: 'Data pipeline',
  projectRepoUrl: 'https://git.example.com/acme/data-pipeline.git',
};

const plan = {
  planRequested: {
    toolId: 'toolu_plan_1',
    input: {
      summary: 'Move the cart from the session to the database',
      plan: '1. Add a table for carts\n2. Write through the session\n3. Read from the table\n4. Drop the session copy',
      allowedTools: ['edit', 'test'],
    },
  },
};

const question = {
  questionRequested: {
    toolId: 'toolu_ask_1',
    input: {
      questions: [
        {
          header: 'Rounding',
          id: 'rounding',
          question: 'How should half a cent be rounded?',
          multiSelect: false,
          options: [
            { label: 'Half to even', description: 'What the ledger does today' },
            { label: 'Half up', description: 'What the invoices print' },
          ],
        },
      ],
    },
  },
};

const failed = {
  taskFailed: {
    taskStatus: 'ERRORED',
    message: 'The tests ran out of memory twice.',
    messageLabel: 'Test run',
    messageTimestamp: '2026-05-04T09:12:31.000Z',
  },
};

const answered = {
  taskResponseReady: {
    taskStatus: 'AWAITING_INPUT',
    message: 'The migration is written and tested. Shall I open a pull request?',
  },
};

type Outcome = 'active' | 'resolved' | 'dismissed';

type SeedNotification = {
  id: string;
  task: string;
  title: string;
  project: typeof shop | typeof billing;
  payload: object;
  previewText?: string;
  prUrl?: string;
  outcome: Outcome;
};

/** Notifications in chronological order. */
export const notifications: readonly SeedNotification[] = [
  {
    id: 'seed-01',
    task: 'task-cart',
    title: 'Plan for the cart',
    project: shop,
    payload: plan,
    outcome: 'dismissed',
  },
  {
    id: 'seed-02',
    task: 'task-tax',
    title: 'Plan for the new tax',
    project: billing,
    payload: plan,
    outcome: 'resolved',
  },
  {
    id: 'seed-03',
    task: 'task-tax',
    title: 'A question about taxes',
    project: billing,
    payload: question,
    outcome: 'resolved',
  },
  {
    id: 'seed-04',
    task: 'task-search',
    title: 'A question about search',
    project: shop,
    payload: question,
    outcome: 'dismissed',
  },
  {
    id: 'seed-05',
    task: 'task-import',
    title: 'The import failed',
    project: pipeline,
    payload: failed,
    outcome: 'resolved',
  },
  {
    id: 'seed-06',
    task: 'task-export',
    title: 'The export failed',
    project: pipeline,
    payload: failed,
    outcome: 'dismissed',
  },
  {
    id: 'seed-07',
    task: 'task-schema',
    title: 'The schema is ready',
    project: pipeline,
    payload: answered,
    outcome: 'resolved',
  },
  {
    id: 'seed-08',
    task: 'task-logos',
    title: 'The logos are replaced',
    project: shop,
    payload: answered,
    outcome: 'dismissed',
  },
  {
    id: 'seed-09',
    task: 'task-checkout',
    title: 'The checkout tests failed',
    project: shop,
    payload: failed,
    previewText: 'The tests ran out of memory twice.',
    prUrl: 'https://git.example.com/acme/web-shop/pulls/214',
    outcome: 'active',
  },
  {
    id: 'seed-10',
    task: 'task-ledger',
    title: 'The ledger migration is ready',
    project: billing,
    payload: answered,
    previewText: 'The migration is written and tested.',
    outcome: 'active',
  },
  {
    id: 'seed-11',
    task: 'task-rounding',
    title: 'How should amounts be rounded?',
    project: billing,
    payload: question,
    outcome: 'active',
  },
  {
    id: 'seed-12',
    task: 'task-cart-2',
    title: 'Approve the plan for the cart',
    project: shop,
    payload: plan,
    outcome: 'active',
  },
];

const small = { cpuKind: 'shared', cpus: 2, memoryMb: 4096, volumeSizeGb: 20 };
const large = { cpuKind: 'dedicated', cpus: 16, memoryMb: 65_536, volumeSizeGb: 500, gpuKind: 'l4' };

/** One workspace per status. */
export const workspaces: readonly object[] = [
  {
    id: '5f0c2f0e-0000-4000-8000-000000000001',
    projectId: 'web-shop',
    status: 'RUNNING',
    hardware: small,
    keepActive: true,
    machineId: 'machine-17',
    privateIp: '10.20.0.17',
    gitRef: 'refs/heads/cart',
    previewToken: 'preview-web-shop',
  },
  {
    id: '5f0c2f0e-0000-4000-8000-000000000002',
    projectId: 'web-shop',
    status: 'CREATING',
    hardware: small,
    keepActive: false,
  },
  {
    id: '5f0c2f0e-0000-4000-8000-000000000003',
    projectId: 'billing-api',
    status: 'STARTING',
    hardware: small,
    keepActive: false,
    machineId: 'machine-21',
    gitRef: 'refs/heads/main',
  },
  {
    id: '5f0c2f0e-0000-4000-8000-000000000004',
    projectId: 'billing-api',
    status: 'STOPPING',
    hardware: small,
    keepActive: false,
    machineId: 'machine-23',
    gitRef: 'refs/heads/rounding',
  },
  {
    id: '5f0c2f0e-0000-4000-8000-000000000005',
    projectId: 'data-pipeline',
    status: 'STOPPED',
    hardware: large,
    keepActive: false,
    gitRef: 'refs/heads/main',
  },
  {
    id: '5f0c2f0e-0000-4000-8000-000000000006',
    projectId: 'data-pipeline',
    status: 'ERROR',
    hardware: large,
    keepActive: false,
    errorMessage: 'No machine with an l4 is free.',
  },
].map((workspace, index) => ({
  ...workspace,
  createdAt: `2026-05-04T08:0${index}:00.000Z`,
  updatedAt: `2026-05-04T09:0${index}:00.000Z`,
}));
