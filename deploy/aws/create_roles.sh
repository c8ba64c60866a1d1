#!/usr/bin/env bash
# Create the roles of an AWS cluster, once per account: bash deploy/aws/create_roles.sh BUCKET
# The head may start and stop machines of this cluster; head and workers may use s3://BUCKET/bonuslab. Nothing else.
set -euo pipefail
bucket=${1:?name the bucket for checkpoints}
here=$(cd "$(dirname "$0")" && pwd)
trust='{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}'

for name in bonuslab-head bonuslab-worker; do
    aws iam create-role --role-name "$name" --assume-role-policy-document "$trust"
    aws iam put-role-policy --role-name "$name" --policy-name storage \
        --policy-document "$(sed "s|YOUR-BUCKET|$bucket|" "$here/storage.json")"
    aws iam create-instance-profile --instance-profile-name "$name"
    aws iam add-role-to-instance-profile --instance-profile-name "$name" --role-name "$name"
done
aws iam put-role-policy --role-name bonuslab-head --policy-name machines --policy-document "file://$here/head.json"
