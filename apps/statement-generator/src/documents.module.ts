/** The store of documents, for the workers of this app. */
import { type DynamicModule, Global, Module } from '@nestjs/common';
import { openDocuments } from '@pis/documents';
import type { Keyring } from '@pis/keyring';
import { type DocumentsConfig, KEYRING, PG_POOL } from '@pis/service-kit';
import type pg from 'pg';

export const DOCUMENTS = Symbol('DocumentStore');

@Global()
@Module({})
export class DocumentsModule {
  static register({ PIS_DOCUMENT_STORE: place }: DocumentsConfig): DynamicModule {
    return {
      module: DocumentsModule,
      providers: [
        {
          provide: DOCUMENTS,
          inject: [PG_POOL, KEYRING],
          useFactory: (pool: pg.Pool, keyring: Keyring) => openDocuments(place, { pool, keyring }),
        },
      ],
      exports: [DOCUMENTS],
    };
  }
}
