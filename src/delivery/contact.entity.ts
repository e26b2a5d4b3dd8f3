import { defineEntity } from '@mikro-orm/core';
import { idColumn, textColumn, timeColumn } from '../database/columns.ts';

export const ContactSchema = defineEntity({
  name: 'Contact',
  tableName: 'contact',
  properties: {
    userId: idColumn().primary(),
    email: textColumn().strictNullable(),
    /** Set when the address was refused. Nothing is sent until the platform sets the address again. */
    emailSuspendedAt: timeColumn().strictNullable(),
    chatMemberId: textColumn().strictNullable(),
    chatSuspendedAt: timeColumn().strictNullable(),
    createdAt: timeColumn(),
    updatedAt: timeColumn(),
  },
});

export class Contact extends ContactSchema.class {}
ContactSchema.setClass(Contact);
