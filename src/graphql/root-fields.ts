import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  buildSchema,
  defaultFieldResolver,
  type GraphQLFieldConfig,
  type GraphQLFieldResolver,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  GraphQLSchema,
  Kind,
  OperationTypeNode,
} from 'graphql';
import { rateLimitDirective } from 'graphql-rate-limit-directive';
import type { RateLimiterRes } from 'rate-limiter-flexible';
import {
  type Access,
  type Bucket,
  checkAccess,
  findBucket,
  findRecordAccess,
  type OwnedRecord,
  requireAccess,
} from '../auth/access.ts';
import { defaultLimits } from '../config/environment.ts';
import type { Context, RootValue } from '../context.ts';
import { RateLimitedError, ValidationError } from '../errors/gateway-errors.ts';
import type { ValidationIssue } from '../errors/issue.ts';
import { WINDOW_SECONDS } from '../quota/limiters.ts';
import { formatKey, type Quota, toSeconds } from '../quota/quota.ts';
import { asGatewayError } from './errors.ts';
import { toSentValue } from './secret-inputs.ts';

type Resolver = GraphQLFieldResolver<RootValue, Context>;
type RecordResolver = GraphQLFieldResolver<OwnedRecord, Context>;

/**
 * Checks the access to every root field, and to every field of a record that declares it, before anything else of the
 * field runs. Records the root field and the error, and gives the error the values as they were sent.
 */
export function guardRootFields(schema: GraphQLSchema): GraphQLSchema {
  return mapSchema(schema, {
    // Removes default resolvers. If a field has no resolver, a compiled operation reads its property directly.
    [MapperKind.OBJECT_FIELD]: ({ resolve, ...field }, name, type) => ({
      ...field,
      ...(resolve && resolve !== defaultFieldResolver && { resolve }),
      ...(resolve &&
        field.extensions?.access && {
          resolve: guardRecordField(`${type}.${name}`, field.extensions.access, resolve),
        }),
    }),
    [MapperKind.ROOT_FIELD]: ({ resolve = defaultFieldResolver, ...field }, name) => ({
      ...field,
      resolve: guard(name, requireAccess(name, field.extensions), resolve),
    }),
    // The events of a subscription are resolved without checks.
    [MapperKind.SUBSCRIPTION_ROOT_FIELD]: ({ subscribe = defaultFieldResolver, ...field }, name) => ({
      ...field,
      subscribe: guard(name, requireAccess(name, field.extensions), subscribe),
    }),
  });
}

function guard(name: string, access: Access, resolve: Resolver): Resolver {
  return async (source, args, context, info) => {
    context.operations.add(name);
    try {
      const refusal = checkAccess(access, context.viewer, args);
      if (refusal) throw refusal;
      return await resolve(source, args, context, info);
    } catch (error) {
      context.failures.push({ field: name, code: asGatewayError(error).code });
      if (!(error instanceof ValidationError)) throw error;
      const declared = info.parentType.getFields()[info.fieldName]?.args ?? [];
      const toSent = ({ path, value }: ValidationIssue) => toSentValue(declared, path, value);
      throw new ValidationError(error.issues.map((issue) => ({ ...issue, value: toSent(issue) })));
    }
  };
}

function guardRecordField(name: string, declared: Access, resolve: RecordResolver): RecordResolver {
  return async (source, args, context, info) => {
    try {
      const access = findRecordAccess(declared, source, context.viewer);
      const refusal = checkAccess(access, context.viewer, {});
      if (refusal) throw refusal;
      return await resolve(source, args, context, info);
    } catch (error) {
      // The log line of a subscription is written when it starts.
      if (!isSubscription(info)) context.failures.push({ field: name, code: asGatewayError(error).code });
      throw error;
    }
  };
}

function isSubscription({ operation }: GraphQLResolveInfo): boolean {
  return operation.operation === OperationTypeNode.SUBSCRIPTION;
}

/** Returns the `extensions` that apply `@rateLimit` to a root field of a bucket. */
export function rateLimited(bucket: Bucket, limits: Readonly<Record<Bucket, number>> = defaultLimits) {
  const values = { bucket: bucket.toUpperCase(), limit: limits[bucket], duration: WINDOW_SECONDS };
  return { directives: { rateLimit: values } };
}

/** Replaces the library's definition, which explains neither shared limits nor the meaning of 0. */
const directive = `
"""A rate limit that operations share."""
enum RateLimitBucket {
  """Reads of the account."""
  READS
  """Changes of the account."""
  WRITES
  """Operations of the platform."""
  PLATFORM
  """Operations of task tokens, whatever the field declares. Counted per user and task of the token."""
  TASKS
}

"""
The default rate limit of a root field, per token subject. All fields of a bucket share its limit. The operator can
configure other limits.
"""
directive @rateLimit(
  """The bucket."""
  bucket: RateLimitBucket! = READS
  """The maximum number of points per time window. A call costs at least one point. 0 means no limit."""
  limit: Int! = ${defaultLimits.reads}
  """The length of the time window in seconds."""
  duration: Int! = ${WINDOW_SECONDS}
) on FIELD_DEFINITION | OBJECT
`;

/** `@rateLimit` and the directives that GraphQL specifies. */
export const rateLimitDirectives = buildSchema(directive, { assumeValidSDL: true }).getDirectives();

/** A call of a root field, as the directive sees it, and the limiter's result. */
type Admission = { readonly key: string; readonly points: number; result?: RateLimiterRes };

type AdmissionConfig = GraphQLFieldConfig<object, Admission>;
type FieldConfig = GraphQLFieldConfig<RootValue, Context>;
type RecordFieldConfig = GraphQLFieldConfig<OwnedRecord, Context>;

/**
 * Returns a schema in which `@rateLimit` charges root fields, and fields of records that declare access, with the
 * configured limits when they are called. Each alias is charged separately, and a subscription when it starts.
 *
 * The directive wraps an empty resolver, which the field's own follows. V8 keeps everything that a call of the
 * directive's wrapper references until the next major garbage collection: with the whole request, that is 5 to 8 KiB and
 * a tenth to a fifth of the processor time of a request.
 */
export function limitRootFields(schema: GraphQLSchema, quota: Quota): GraphQLSchema {
  const { rateLimitDirectiveTransformer } = rateLimitDirective<Admission>({
    limiterClass: quota.limiterClass,
    keyGenerator: (_limit, _source, _args, { key }) => key,
    pointsCalculator: (_limit, _source, _args, { points }) => points,
    setState(result, _limit, _source, _args, admission) {
      admission.result = result;
    },
    onLimit({ msBeforeNext }) {
      throw new RateLimitedError(toSeconds(msBeforeNext));
    },
  });
  const own = new Map<string, FieldConfig>();
  const recordResolvers = new Map<string, RecordResolver>();
  const toAdmission = <Source>(field: GraphQLFieldConfig<Source, Context>, name: string) => {
    const { bucket } = requireAccess(name, field.extensions);
    const extensions = { ...field.extensions, ...rateLimited(bucket, quota.limits) };
    return { ...field, extensions, resolve: () => undefined };
  };
  const toRootAdmission = (field: FieldConfig, name: string, type: string) => {
    own.set(`${type}.${name}`, field);
    return toAdmission(field, name);
  };
  const toRecordAdmission = (field: RecordFieldConfig, name: string, type: string) => {
    if (field.extensions?.access === undefined) return undefined;
    recordResolvers.set(`${type}.${name}`, field.resolve ?? defaultFieldResolver);
    return toAdmission(field, name);
  };
  const combine = (admission: AdmissionConfig, name: string, type: string): FieldConfig => {
    const found = own.get(`${type}.${name}`);
    if (found === undefined) throw new Error(`The root field "${name}" was not limited.`);
    const { resolve = defaultFieldResolver, subscribe, ...field } = found;
    const follow = (resolver: Resolver) => admitFirst(name, admission, resolver, quota);
    return subscribe
      ? { ...field, resolve, subscribe: follow(subscribe) }
      : { ...field, resolve: follow(resolve) };
  };
  const combineRecordField = (admission: AdmissionConfig, name: string, type: string) => {
    const resolver = recordResolvers.get(`${type}.${name}`);
    return resolver && { ...admission, resolve: admitRecordField(name, admission, resolver, quota) };
  };
  const admissions = mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: toRecordAdmission,
    [MapperKind.ROOT_FIELD]: toRootAdmission,
    [MapperKind.SUBSCRIPTION_ROOT_FIELD]: toRootAdmission,
  });
  return mapSchema(rateLimitDirectiveTransformer(admissions), {
    [MapperKind.OBJECT_FIELD]: combineRecordField,
    [MapperKind.ROOT_FIELD]: combine,
    [MapperKind.SUBSCRIPTION_ROOT_FIELD]: combine,
  });
}

/**
 * Creates the resolver of a limited field: the directive's, then the field's own. Reads of the account wait while too
 * many reads of the same caller are running.
 */
function admitFirst(
  name: string,
  { resolve: admit = defaultFieldResolver, type, extensions }: AdmissionConfig,
  resolver: Resolver,
  quota: Quota,
): Resolver {
  const access = requireAccess(name, extensions);
  const charge = createCharge(name, admit, type, quota);
  return async (source, args, context, info) => {
    const { readScheduler, viewer } = context;
    const bucket = findBucket(access, viewer);
    const points = access.points?.(args) ?? 1;
    if (points > 0) await charge(context, bucket, points);
    const run = () => resolver(source, args, context, info);
    return bucket === 'reads' ? readScheduler.run(viewer.userId, run) : run();
  };
}

/**
 * Does the same for a field of a record. Its bucket depends on whose record it is. The events of a subscription are not
 * charged.
 */
function admitRecordField(
  name: string,
  { resolve: admit = defaultFieldResolver, type, extensions }: AdmissionConfig,
  resolver: RecordResolver,
  quota: Quota,
): RecordResolver {
  const declared = requireAccess(name, extensions);
  const charge = createCharge(name, admit, type, quota);
  return async (source, args, context, info) => {
    const bucket = findBucket(findRecordAccess(declared, source, context.viewer), context.viewer);
    if (!isSubscription(info)) await charge(context, bucket, 1);
    const run = () => resolver(source, args, context, info);
    // Records of a list are read together, so they must not wait for each other.
    const isBatched = source.reader === undefined || bucket !== 'reads';
    return isBatched ? run() : context.readScheduler.run(context.viewer.userId, run);
  };
}

/** Creates the function that charges a call of a field by the directive's resolver. */
function createCharge(
  name: string,
  admit: GraphQLFieldResolver<object, Admission>,
  type: GraphQLOutputType,
  quota: Quota,
) {
  const info = createInfo(name, type);
  return async (context: Context, bucket: Bucket, points: number): Promise<void> => {
    const cost = quota.limits[bucket] === 0 ? 0 : points;
    const admission: Admission = { key: formatKey(bucket, context.viewer), points: cost };
    try {
      await admit({}, {}, admission, info);
      context.charges.admitted += 1;
    } finally {
      if (admission.result) quota.record(context, bucket, admission.result);
    }
  };
}

/** Creates the `info` of an empty resolver. A field's own `info` references the variables of its request. */
function createInfo(fieldName: string, returnType: GraphQLOutputType): GraphQLResolveInfo {
  const parentType = new GraphQLObjectType({ name: 'Admission', fields: {} });
  return {
    fieldName,
    fieldNodes: [],
    returnType,
    parentType,
    path: { prev: undefined, key: fieldName, typename: parentType.name },
    schema: new GraphQLSchema({}),
    fragments: {},
    rootValue: {},
    operation: {
      kind: Kind.OPERATION_DEFINITION,
      operation: OperationTypeNode.QUERY,
      selectionSet: { kind: Kind.SELECTION_SET, selections: [] },
    },
    variableValues: {},
  };
}
